// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sizing/baseline.h"

#include <cmath>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

#include "filters/sizing/sets/shbf.h"
#include "support/vectors.h"

namespace unecho::sizing::baseline_test {
namespace {

void expect_near(double actual, double expected, double relative) {
    EXPECT_NEAR(actual, expected, std::abs(expected) * relative);
}

// Return the match rate after `left` more insertions, over all equally likely positions.
double enumerate(unsigned m, std::uint64_t set, std::uint64_t left, unsigned k) {
    if (left == 0) {
        double matches = 1;
        for (unsigned i = 0; i < k; ++i) {
            matches *= static_cast<double>(__builtin_popcountll(set)) / m;
        }
        return matches;
    }
    double sum = 0;
    for (unsigned bit = 0; bit < m; ++bit) {
        sum += enumerate(m, set | std::uint64_t{1} << bit, left - 1, k);
    }
    return sum / m;
}

TEST(bloom_rate, exact_is_the_mean_over_all_placements) {
    for (unsigned m = 1; m <= 4; ++m) {
        for (unsigned n = 0; n <= 3; ++n) {
            for (unsigned k = 1; k <= 3; ++k) {
                EXPECT_NEAR(bloom_rate_exact(m, n, k), enumerate(m, 0, n * k, k), 1e-13)
                    << m << " " << n << " " << k;
            }
        }
    }
}

TEST(bloom_rate, mean_fill_is_exact_for_one_hash_and_nearly_for_large_m) {
    expect_near(bloom_rate_exact(100, 60, 1), bloom_rate(100, 60, 1), 1e-12);
    for (const unsigned k : {2u, 4u, 8u}) {
        const unsigned m = 4096;
        const auto n = static_cast<std::uint64_t>(m * std::numbers::ln2 / k);
        const double gap = bloom_rate_exact(m, n, k) / bloom_rate(m, static_cast<double>(n), k) - 1;
        EXPECT_GT(gap, 0);
        EXPECT_LT(gap, k * k / (7.0 * m));
    }
}

// Equation 8 has e^(-kn/m) for (1 - 1/m)^(kn): it is lower by at most k / 2m of its value.
TEST(bloom_rate, is_equation_8_of_shifting_bloom_filter) {
    const auto rows = test::vectors("shbf_m_fpr");
    ASSERT_FALSE(rows.empty());
    for (const test::Row& row : rows) {
        const double m = row.real("m");
        const unsigned k = row.whole("k");
        const double rate = bloom_rate(m, row.real("n"), k);
        EXPECT_GE(rate, row.real("fpr Bloom eq 8") * (1 - 1e-11));
        EXPECT_LE(rate, row.real("fpr Bloom eq 8") * (1 + 0.5 * k / m + 1e-8));
    }
}

TEST(blocked_rate, mean_fill_is_too_low_by_what_the_header_says) {
    const auto gap = [](unsigned B, unsigned k) {
        const double load = B * std::numbers::ln2 / k;
        return 1 - blocked_rate_mean_fill(load, B, k) / blocked_rate(load, B, k);
    };
    EXPECT_NEAR(gap(512, 4), 0.004, 0.001);
    EXPECT_NEAR(gap(512, 8), 0.016, 0.001);
    EXPECT_NEAR(gap(512, 16), 0.06, 0.005);
    EXPECT_NEAR(gap(64, 4), 0.025, 0.001);
    EXPECT_NEAR(gap(64, 8), 0.09, 0.005);
    EXPECT_NEAR(gap(64, 16), 0.22, 0.005);
}

// blocked_bloom.h states these numbers.
TEST(blocked_rate, costs_more_for_lower_rates) {
    const auto factor = [](unsigned k) {
        return blocked_rate(512 * std::numbers::ln2 / k, 512, k) * std::exp2(k);
    };
    EXPECT_NEAR(factor(8), 1.3, 0.05);
    EXPECT_NEAR(factor(16), 6, 0.2);
}

// Fan et al.: 1.37e-15 m with k = (m / n) ln 2.
TEST(counting_overflow, is_the_paper_s_bound) {
    expect_near(counting_overflow(1e6 / std::numbers::ln2 * 4, 1e6, 4),
                1.37e-15 * 1e6 / std::numbers::ln2 * 4, 0.01);
    EXPECT_EQ(counting_overflow(100, 1e6, 4), 1);
}

TEST(windows, rates_before_a_shift) {
    const double m = 1e5;
    EXPECT_EQ(double_buffering_rate(m, 5000, 7, 0), bloom_rate(m, 5000, 7));
    EXPECT_EQ(double_buffering_rate(m, 5000, 7, 1), bloom_rate(m, 10'000, 7));
    expect_near(a2_rate(m, 5000, 7, 0), bloom_rate(m, 5000, 7), 1e-9);
    expect_near(a2_rate(m, 5000, 7, 1), 2 * bloom_rate(m, 5000, 7), 0.01);
    expect_near(rotating_blocked_rate(100, 5000, 7, 0), blocked_rate(50, 512, 7), 1e-12);
    expect_near(rotating_rate(0.5, 0.25), 0.625, 1e-15);
    EXPECT_EQ(forgetful_rate(m, 5000, 7, 0), bloom_rate(m, 10'000, 7));
    const double past = bloom_rate(m, 10'000, 7);
    expect_near(forgetful_rate(m, 5000, 7, 1), 1 - (1 - past) * (1 - past * bloom_rate(m, 5000, 7)),
                1e-9);
}

// The share of zeroes compared with the chain of one cell: decremented with P/m, then set with k/m.
TEST(stable_rate, zeroes_are_those_of_the_chain) {
    for (const unsigned max : {1u, 3u, 7u}) {
        const double m = 1000;
        const unsigned k = 3;
        const double P = 20;
        std::vector<double> share(max + 1);
        share[max] = 1;
        for (unsigned step = 0; step < 100'000; ++step) {
            std::vector<double> next(max + 1);
            for (unsigned value = 0; value <= max; ++value) {
                const double stays = value == 0 ? 1 : 1 - P / m;
                next[value] += share[value] * stays * (1 - k / m);
                if (value > 0) {
                    next[value - 1] += share[value] * P / m * (1 - k / m);
                }
                next[max] += share[value] * k / m;
            }
            share = next;
        }
        expect_near(stable_zeroes(m, k, max, P), share[0], 1e-6);
        expect_near(stable_rate(m, k, max, P), std::pow(1 - share[0], k), 1e-6);
    }
}

TEST(stable_rate, decrements_give_the_rate) {
    for (const double rate : {0.1, 0.01, 0.001}) {
        const double P = stable_decrements(1e5, 4, 3, rate);
        EXPECT_GT(P, 1);
        expect_near(stable_rate(1e5, 4, 3, P), rate, 1e-9);
        EXPECT_LT(stable_rate(1e5, 4, 3, std::ceil(P)), rate);
    }
}

TEST(swamp_rate, lies_just_below_its_bound) {
    for (const unsigned f : {8u, 16u, 32u}) {
        EXPECT_LT(swamp_rate(100, f), swamp_bound(100, f));
        EXPECT_GT(swamp_rate(100, f), swamp_bound(100, f) * (1 - 50 * std::exp2(-1.0 * f)));
    }
    expect_near(swamp_rate(1, 8), 1.0 / 256, 1e-12);
    expect_near(swamp_rate(2, 1), 0.75, 1e-12);
}

TEST(count_min, bound_holds_for_unit_counts) {
    for (const std::uint64_t w : {1u, 2u, 10u, 100u, 1000u}) {
        for (const unsigned d : {1u, 2u, 5u}) {
            const std::uint64_t n = 500;
            const double error = count_min_error(static_cast<double>(w), static_cast<double>(n));
            EXPECT_LE(count_min_exceeds(w, d, n, static_cast<std::uint64_t>(error)),
                      count_min_failure(d));
        }
    }
    expect_near(count_min_error(100, 1000), 27.18281828, 1e-9);
    expect_near(count_min_failure(5), 0.006737947, 1e-6);
}

TEST(count_min, exceeds_is_a_binomial_tail) {
    expect_near(count_min_exceeds(4, 1, 2, 0), 1 - 9.0 / 16, 1e-12);
    expect_near(count_min_exceeds(4, 1, 2, 1), 1.0 / 16, 1e-12);
    expect_near(count_min_exceeds(4, 3, 2, 0), std::pow(7.0 / 16, 3), 1e-12);
    EXPECT_EQ(count_min_exceeds(4, 1, 2, 2), 0);
    EXPECT_EQ(count_min_exceeds(1, 3, 2, 1), 1);
}

TEST(ibf, clear_answers_are_the_paper_s_at_fill_one_half) {
    const auto rows = test::vectors("shbf_a");
    ASSERT_FALSE(rows.empty());
    for (const test::Row& row : rows) {
        const unsigned k = row.whole("k");
        const double n = 1e6;
        const double m = two_bloom_bits(n, 0, k);
        const double rate = bloom_rate(m, n, k);
        expect_near(ibf_clear(rate, rate), row.real("iBF clear answer"), 1e-6);
        expect_near(ibf_clear(rate, rate), two_bloom_clear(k), 1e-6);
    }
    EXPECT_EQ(ibf_clear(0, 0), 2.0 / 3);
    EXPECT_EQ(ibf_clear(1, 0), 1.0 / 3);
}

}  // namespace
}  // namespace unecho::sizing::baseline_test
