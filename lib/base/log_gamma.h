// SPDX-License-Identifier: BSD-3-Clause
// The logarithm of the gamma function, for any number of threads: std::lgamma() also writes the
// sign to a global variable.
#pragma once

#include <cmath>

namespace unecho {

// x > 0.
[[nodiscard]] inline double log_gamma(double x) {
    int sign = 0;
    return ::lgamma_r(x, &sign);
}

}  // namespace unecho
