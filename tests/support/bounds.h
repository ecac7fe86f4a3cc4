// SPDX-License-Identifier: BSD-3-Clause
// Two-sided bounds for measured rates: outside them a measurement contradicts what was predicted,
// with probability kAlpha of being wrong.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace unecho::test {

// Of one check: a suite of a thousand checks fails once in a thousand seeds.
inline constexpr double kAlpha = 1e-6;
// The normal distribution is this many standard deviations or more from its mean with that
// probability, on either side.
inline constexpr double kDeviations = 4.8916;

struct Counts {
    double low = 0;
    double high = 0;
};

// The counts of n trials of probability p, without kAlpha / 2 at either end. Exact: probabilities
// are summed outwards from the most likely count.
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
    double total = -1;  // the mode is in both
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

// Student's t of so many degrees of freedom is this far or more from 0 with probability kAlpha
// (Cornish and Fisher's expansion, good to 1 % from 30 on).
inline double student_deviations(double freedom) {
    const double z = kDeviations;
    const double z2 = z * z;
    const double first = z * (z2 + 1) / 4;
    const double second = z * ((5 * z2 + 16) * z2 + 3) / 96;
    const double third = z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
    return z + (first + (second + third / freedom) / freedom) / freedom;
}

// The rates measured in tables that have nothing in common, for comparison by their mean and the
// error of that mean, whatever the tables' spread.
class Rates {
  public:
    void add(double rate) {
        sum_ += rate;
        squares_ += rate * rate;
        count_ += 1;
    }
    [[nodiscard]] double mean() const { return sum_ / count_; }
    // How far the mean may lie from the true one. least: the variance of one rate by what is drawn
    // in a table, which the measured one may happen to be below.
    [[nodiscard]] double error(double least) const {
        const double variance = std::max((squares_ / count_ - mean() * mean()), least);
        return student_deviations(count_ - 1) * std::sqrt(variance / (count_ - 1));
    }

  private:
    double sum_ = 0;
    double squares_ = 0;
    double count_ = 0;
};

// Chi square of so many degrees of freedom (Wilson and Hilferty's cube root, good from 30 on).
inline Counts chi_square_bounds(double freedom) {
    const double v = 2 / (9 * freedom);
    const auto at = [=](double deviations) {
        return freedom * std::pow(1 - v + deviations * std::sqrt(v), 3);
    };
    return {at(-kDeviations), at(kDeviations)};
}

// Chi square of counts that should all be the same.
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
