// SPDX-License-Identifier: BSD-3-Clause
// What k of n says of a probability: the exact interval of Clopper and Pearson (Biometrika 26,
// 1934). Whatever the probability is, the interval holds it with the confidence at least.
#pragma once

#include <cstdint>
#include <optional>

namespace unecho::sizing {

// The regularised incomplete beta function: the chance that a Beta(a, b) variable is at most x.
// a, b > 0, x from 0 to 1. Good to some 1e-12.
[[nodiscard]] double incomplete_beta(double a, double b, double x);

struct Interval {
    double low = 0;
    double high = 1;
};

inline constexpr double kConfidence = 0.95;

// k <= n. Of n = 0 nothing is known.
[[nodiscard]] Interval clopper_pearson(std::uint64_t k, std::uint64_t n,
                                       double confidence = kConfidence);

// How many trials it takes until the interval lies below a bound, if k of n stays the share. None
// if that is not below the bound, or would take more than 2^63.
[[nodiscard]] std::optional<double> trials_to_confirm(std::uint64_t k, std::uint64_t n,
                                                      double bound,
                                                      double confidence = kConfidence);

}  // namespace unecho::sizing
