// SPDX-License-Identifier: BSD-3-Clause
// The exact confidence interval of a probability from k of n events, by Clopper and Pearson
// (Biometrika 26, 1934). Whatever it is, the interval contains it with the confidence or more.
#pragma once

#include <cstdint>
#include <optional>

namespace unecho::sizing {

// Return the regularised incomplete beta function, the probability that a Beta(a, b) variable is at
// most x, for a, b > 0 and x from 0 to 1. Accurate to about 1e-12.
[[nodiscard]] double incomplete_beta(double a, double b, double x);

struct Interval {
    double low = 0;
    double high = 1;
};

inline constexpr double kConfidence = 0.95;

// k <= n. For n = 0 return [0, 1].
[[nodiscard]] Interval clopper_pearson(std::uint64_t k, std::uint64_t n,
                                       double confidence = kConfidence);

// Return the number of trials after which the interval lies below a bound, if the share k of n
// stays. Return nothing if the share is not below the bound, or if it takes more than 2^63 trials.
[[nodiscard]] std::optional<double> trials_to_confirm(std::uint64_t k, std::uint64_t n,
                                                      double bound,
                                                      double confidence = kConfidence);

}  // namespace unecho::sizing
