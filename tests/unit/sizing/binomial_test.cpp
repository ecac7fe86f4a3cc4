// SPDX-License-Identifier: BSD-3-Clause
// Bounds were computed with mpmath: binomial tails summed with 40 digits, and bisection.
#include "filters/sizing/binomial.h"

#include <cmath>

#include <gtest/gtest.h>

namespace unecho::sizing::binomial_test {
namespace {

struct Known {
    std::uint64_t k;
    std::uint64_t n;
    double low;
    double high;
};

constexpr Known kKnown[] = {
    {0, 10, 0.0, 0.3084971078188},
    {3, 290'000'000, 2.133352152997e-9, 3.023197580195e-8},
    {1, 20, 0.00126508949795, 0.248732762772},
    {10, 10, 0.6915028921812, 1.0},
    {9, 10, 0.5549838829718, 0.9974714214555},
    {5, 1000, 0.001625419517563, 0.01162947055981},
    {500, 1000, 0.4685491729718, 0.5314508270282},
    {1, 3'000'000, 8.439269292486e-9, 1.85721304856e-6},
    {12345, 100'000'000, 0.0001212819399578, 0.0001256470840276},
    {0, 1'000'000'000'000, 0.0, 3.688879454107e-12},
    {40, 10'000'000'000'000, 2.85765864418e-12, 5.446864696394e-12},
};

TEST(ClopperPearson, is_the_interval_of_exact_tails) {
    for (const Known& known : kKnown) {
        SCOPED_TRACE(std::to_string(known.k) + " of " + std::to_string(known.n));
        const Interval interval = clopper_pearson(known.k, known.n);
        EXPECT_NEAR(interval.low, known.low, 1e-9 * known.low);
        EXPECT_NEAR(interval.high, known.high, 1e-9 * known.high);
    }
}

TEST(ClopperPearson, of_nothing_is_everything) {
    EXPECT_EQ(clopper_pearson(0, 0).low, 0);
    EXPECT_EQ(clopper_pearson(0, 0).high, 1);
}

// For any p, the chance of a k whose interval excludes p is at most 5 %: summed exactly.
TEST(ClopperPearson, covers_every_probability) {
    constexpr unsigned kTrials = 60;
    for (double p = 0.005; p < 1; p += 0.03) {
        double outside = 0;
        for (unsigned k = 0; k <= kTrials; ++k) {
            const Interval interval = clopper_pearson(k, kTrials);
            if (p < interval.low || p > interval.high) {
                outside += std::exp(std::lgamma(kTrials + 1.0) - std::lgamma(k + 1.0) -
                                    std::lgamma(kTrials - k + 1.0) + k * std::log(p) +
                                    (kTrials - k) * std::log1p(-p));
            }
        }
        EXPECT_LE(outside, 0.05) << p;
    }
}

// I_x(1, b) and I_x(a, 1) are powers; I_x(a, b) and I_1-x(b, a) sum to 1.
TEST(IncompleteBeta, is_what_it_is_in_closed_form) {
    for (const double x : {1e-9, 1e-3, 0.2, 0.5, 0.9, 0.999}) {
        for (const double a : {1.0, 2.0, 17.0, 400.0}) {
            EXPECT_NEAR(incomplete_beta(1, a, x), -std::expm1(a * std::log1p(-x)), 1e-12);
            EXPECT_NEAR(incomplete_beta(a, 1, x), std::pow(x, a), 1e-12);
            EXPECT_NEAR(incomplete_beta(a, 3, x) + incomplete_beta(3, a, 1 - x), 1, 1e-12);
        }
    }
    EXPECT_EQ(incomplete_beta(2, 3, 0), 0);
    EXPECT_EQ(incomplete_beta(2, 3, 1), 1);
}

TEST(TrialsToConfirm, is_when_the_interval_first_lies_below) {
    // 1 - 0.025^(1/n) <= 1e-6
    EXPECT_NEAR(*trials_to_confirm(0, 1000, 1e-6), 3'688'877.6, 1);
    const double trials = *trials_to_confirm(5, 10'000'000, 1e-6);
    const double k = 5e-7 * trials;
    EXPECT_LE(
        clopper_pearson(static_cast<std::uint64_t>(k), static_cast<std::uint64_t>(trials)).high,
        1e-6);
    EXPECT_GT(clopper_pearson(static_cast<std::uint64_t>(std::ceil(k * 0.9)),
                              static_cast<std::uint64_t>(trials * 0.9))
                  .high,
              1e-6);
    EXPECT_FALSE(trials_to_confirm(3, 1000, 1e-3));
    EXPECT_FALSE(trials_to_confirm(1, 1000, 1e-3));
}

}  // namespace
}  // namespace unecho::sizing::binomial_test
