// SPDX-License-Identifier: BSD-3-Clause
// Two-sided bounds for measured rates. A measurement outside them contradicts the prediction; the
// probability that it does so by chance is kAlpha.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace unecho::test {

// The probability for one check: a suite of 1000 checks fails by chance once in 1000 seeds.
inline constexpr double kAlpha = 1e-6;
// A normal variable deviates from its mean by at least this many standard deviations, on either
// side, with probability kAlpha.
inline constexpr double kDeviations = 4.8916;

struct Counts {
    double low = 0;
    double high = 0;
};

// Return the counts of n trials of probability p without the kAlpha / 2 at each end. Exact:
// probabilities are summed outwards from the most likely count.
inline Counts binomial_bounds(double n, double p) {
    if (p <= 0 || p >= 1) {
        return {p <= 0 ? 0 : n, p <= 0 ? 0 : n};
    }
    constexpr double kNegligible = 1e-16;
    const double odds = p / (1 - p);
    const double mode = std::floor((n + 1) * p);
    std::vector<double> below;
    for (double i = mode, w = 1; i >= 0 && w > kNegligible; w *= i / ((n - i + 1) * odds), i -= 1) {
        below.push_back(w);
    }
    std::vector<double> above;
    for (double i = mode, w = 1; i <= n && w > kNegligible; w *= (n - i) / (i + 1) * odds, i += 1) {
        above.push_back(w);
    }
    double total = -1;  // both sums contain the mode
    for (const double w : below) {
        total += w;
    }
    for (const double w : above) {
        total += w;
    }
    const auto inner = [&](const std::vector<double>& side) {
        double tail = 0;
        auto kept = static_cast<double>(side.size());
        while (kept > 1 &&
               (tail += side[static_cast<std::size_t>(kept) - 1]) < kAlpha / 2 * total) {
            kept -= 1;
        }
        return kept - 1;
    };
    return {mode - inner(below), mode + inner(above)};
}

// Return the |t| that Student's t with so many degrees of freedom reaches with probability kAlpha
// (Cornish-Fisher expansion, within 1 % from 30 degrees on).
inline double student_deviations(double freedom) {
    const double z = kDeviations;
    const double z2 = z * z;
    const double first = z * (z2 + 1) / 4;
    const double second = z * ((5 * z2 + 16) * z2 + 3) / 96;
    const double third = z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
    return z + (first + (second + third / freedom) / freedom) / freedom;
}

// Rates measured in independent tables, compared by their mean and its standard error. The spread
// between tables may be anything.
class Rates {
  public:
    void add(double rate) {
        sum_ += rate;
        squares_ += rate * rate;
        count_ += 1;
    }
    [[nodiscard]] double mean() const { return sum_ / count_; }
    // Return how far the measured mean may lie from the true one. least: the variance of one rate
    // that sampling within a table alone causes; the measured variance may be below it by chance.
    [[nodiscard]] double error(double least) const {
        const double variance = std::max((squares_ / count_ - mean() * mean()), least);
        return student_deviations(count_ - 1) * std::sqrt(variance / (count_ - 1));
    }

  private:
    double sum_ = 0;
    double squares_ = 0;
    double count_ = 0;
};

// Return bounds of chi square (Wilson-Hilferty cube root, good from 30 degrees of freedom on).
inline Counts chi_square_bounds(double freedom) {
    const double v = 2 / (9 * freedom);
    const auto at = [=](double deviations) {
        return freedom * std::pow(1 - v + deviations * std::sqrt(v), 3);
    };
    return {at(-kDeviations), at(kDeviations)};
}

// Return chi square of counts whose expected values are all equal.
inline double chi_square(const std::vector<std::uint64_t>& counts) {
    double total = 0;
    for (const std::uint64_t count : counts) {
        total += static_cast<double>(count);
    }
    const double expected = total / static_cast<double>(counts.size());
    double sum = 0;
    for (const std::uint64_t count : counts) {
        const double difference = static_cast<double>(count) - expected;
        sum += difference * difference / expected;
    }
    return sum;
}

}  // namespace unecho::test
