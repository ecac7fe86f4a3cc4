// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sizing/binomial.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/log_gamma.h"

namespace unecho::sizing {
namespace {

// Return ln(gamma(a + b) / gamma(b)) for the larger b. Stirling's series avoids the cancellation of
// two large logarithms.
double log_gamma_ratio(double a, double b) {
    constexpr double kLarge = 50;
    if (b < kLarge) {
        return log_gamma(a + b) - log_gamma(b);
    }
    const auto rest = [](double z) {
        const double z2 = z * z;
        return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / z2) / z2) / z;
    };
    return (b - 0.5) * std::log1p(a / b) + a * (std::log(a + b) - 1) + rest(a + b) - rest(b);
}

// x^a (1 - x)^b / B(a, b)
double front(double a, double b, double x) {
    const double beta = log_gamma(std::min(a, b)) - log_gamma_ratio(std::min(a, b), std::max(a, b));
    return std::exp(a * std::log(x) + b * std::log1p(-x) - beta);
}

// The continued fraction of DLMF 8.17.22, by Lentz's method; fast for x below the mean.
double fraction(double a, double b, double x) {
    constexpr double kTiny = 1e-300;
    constexpr double kClose = 1e-14;
    constexpr unsigned kMaxSteps = 10'000;
    const auto not_zero = [](double value) { return std::fabs(value) < kTiny ? kTiny : value; };
    double c = 1;
    double d = 1 / not_zero(1 - (a + b) * x / (a + 1));
    double sum = d;
    for (unsigned step = 1; step < kMaxSteps; ++step) {
        const double m = step;
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 / not_zero(1 + even * d);
        c = not_zero(1 + even / c);
        sum *= d * c;
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / not_zero(1 + odd * d);
        c = not_zero(1 + odd / c);
        sum *= d * c;
        if (std::fabs(d * c - 1) < kClose) {
            break;
        }
    }
    return sum;
}

// Return the x at which incomplete_beta(a, b, x) is p. Bisects the logarithm: rates are small.
double beta_quantile(double a, double b, double p) {
    double low = std::log(1e-30);
    double high = 0;
    for (unsigned i = 0; i < 100; ++i) {
        const double middle = (low + high) / 2;
        (incomplete_beta(a, b, std::exp(middle)) < p ? low : high) = middle;
    }
    return std::exp((low + high) / 2);
}

double upper(double k, double n, double tail) {
    return k >= n   ? 1
           : k == 0 ? -std::expm1(std::log(tail) / n)
                    : beta_quantile(k + 1, n - k, 1 - tail);
}

}  // namespace

double incomplete_beta(double a, double b, double x) {
    if (x <= 0 || x >= 1) {
        return x <= 0 ? 0 : 1;
    }
    // Beyond the mean the complement's fraction converges better. But 1 - x has lost the digits of
    // a small x. So use this side up to three deviations beyond the mean, unless it loses more.
    const double far = x > 0.5 || a > 1000 ? a + 1 : a + 3 * std::sqrt(a);
    if (x > far / (a + b + 2)) {
        return 1 - front(b, a, 1 - x) * fraction(b, a, 1 - x) / b;
    }
    return front(a, b, x) * fraction(a, b, x) / a;
}

Interval clopper_pearson(std::uint64_t k, std::uint64_t n, double confidence) {
    if (n == 0) {
        return {};
    }
    const double tail = (1 - confidence) / 2;
    const auto some = static_cast<double>(k);
    const auto all = static_cast<double>(n);
    return {k == 0   ? 0
            : k == n ? std::pow(tail, 1 / all)
                     : beta_quantile(some, all - some + 1, tail),
            upper(some, all, tail)};
}

std::optional<double> trials_to_confirm(std::uint64_t k, std::uint64_t n, double bound,
                                        double confidence) {
    if (bound <= 0 || bound >= 1) {
        return std::nullopt;
    }
    const double tail = (1 - confidence) / 2;
    const double share = k == 0 ? 0 : static_cast<double>(k) / static_cast<double>(n);
    // The upper end is below the bound if and only if so few events are rare enough at the bound.
    const auto below = [&](double trials) {
        const double some = share * trials;
        return 1 - incomplete_beta(some + 1, trials - some, bound) <= tail;
    };
    double high = std::max(1.0, static_cast<double>(n));
    constexpr double kMost = 9e18;
    while (!below(high)) {
        if (share >= bound || high > kMost) {
            return std::nullopt;
        }
        high *= 2;
    }
    double low = high / 2 > static_cast<double>(n) ? high / 2 : 1;
    for (unsigned i = 0; i < 60; ++i) {
        const double middle = (low + high) / 2;
        (below(middle) ? high : low) = middle;
    }
    return high;
}

}  // namespace unecho::sizing
