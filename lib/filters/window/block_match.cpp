// SPDX-License-Identifier: BSD-3-Clause
#include "filters/window/block_match.h"

#include <algorithm>
#include <cmath>

namespace unecho::filter {

BlockMatch::BlockMatch(unsigned B, unsigned b, std::uint64_t blocks)
    : B_(B), b_(b), blocks_(static_cast<double>(blocks)) {}

double BlockMatch::half() const {
    return std::log(2.0) / -std::log1p(-static_cast<double>(b_) / B_) * blocks_;
}

// Return the chance for a whole number of digests: in each part the digest's bit must be set.
double BlockMatch::of_load(double load) {
    const auto index = static_cast<std::size_t>(load);
    while (by_load_.size() <= index) {
        const auto n = static_cast<double>(by_load_.size());
        const auto part_matches = [n](unsigned bits) {
            return -std::expm1(n * std::log1p(-1.0 / bits));
        };
        const unsigned larger = B_ % b_;
        by_load_.push_back(std::pow(part_matches(B_ / b_), b_ - larger) *
                           std::pow(part_matches(B_ / b_ + 1), larger));
    }
    return by_load_[index];
}

// Sums outward from the mode until the weights vanish, then divides by their sum.
double BlockMatch::operator()(double n) {
    constexpr double kNegligible = 1e-20;
    if (blocks_ <= 1) {
        const double whole = std::floor(n);
        return of_load(whole) + (n - whole) * (of_load(whole + 1) - of_load(whole));
    }
    const double odds = 1 / (blocks_ - 1);  // of falling into the block
    const double mode = std::floor((n + 1) / blocks_);
    double weights = 1;
    double sum = of_load(mode);
    double weight = 1;
    for (double i = mode; (weight *= std::max(n - i, 0.0) / (i + 1) * odds) > kNegligible; i += 1) {
        weights += weight;
        sum += weight * of_load(i + 1);
    }
    weight = 1;
    for (double i = mode; i >= 1 && (weight *= i / ((n - i + 1) * odds)) > kNegligible; i -= 1) {
        weights += weight;
        sum += weight * of_load(i - 1);
    }
    return sum / weights;
}

}  // namespace unecho::filter
