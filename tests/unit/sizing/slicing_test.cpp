// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sizing/sets/slicing.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/vectors.h"

namespace unecho::sizing::slicing::slicing_test {
namespace {

using test::Row;
using test::vectors;

// Vectors have 12 significant digits.
void expect_close(double actual, double expected, const std::string& what,
                  double relative = 1e-11) {
    EXPECT_NEAR(actual, expected, std::abs(expected) * relative + 1e-300) << what;
}

TEST(slicing_vectors, false_positives_without_failures) {
    const std::vector<Row> rows = vectors("slicing_fpr");
    unsigned loads = 0;
    for (const Row& row : rows) {
        const double m = row.real("m");
        const unsigned k = row.whole("k");
        const unsigned n = row.whole("n");
        const unsigned S = row.whole("S");
        const std::string what = row.text("m") + " " + row.text("S");
        expect_close(fpr_limit(m, k, n), row.real("fp eq 2"), what);
        expect_close(fpr(m, k, n), row.real("fp vertical eq 3"), what);
        expect_close(fpr_horizontal(m, k, S, n), row.real("fp horizontal eq 4"), what);
        expect_close(fpr_diced(m, k, S, 2, n), row.real("fp diced v-h (S'=2) "), what);
        const double mean = fpr_horizontal_loads(m, k, S, n);
        // The vectors' sum starts at an empty slice. If n is large and S small, its probability
        // underflows and the vectors have 0.
        if (const double given = row.real("fp horizontal, binomial slice load"); given != 0) {
            expect_close(mean, given, what, 1e-9);
            ++loads;
        }
    }
    ASSERT_GE(rows.size(), 35u);
    EXPECT_GE(loads, 15u);
}

// Independent of the vectors: sum over all loads with logarithms of factorials.
TEST(slicing, binomial_loads_agree_with_the_direct_sum) {
    for (const auto& [m, k, S, n] : {std::tuple{36500.0, 4U, 2U, 4300U},
                                     {65536.0, 8U, 4U, 4000U},
                                     {1050.0, 3U, 7U, 90U},
                                     {60.0, 5U, 3U, 1U},
                                     {60.0, 5U, 1U, 9U},
                                     {60.0, 2U, 3U, 0U}}) {
        double sum = 0;
        for (unsigned i = 0; i <= n; ++i) {
            const double q = 1.0 / S;
            const double rest = n - i == 0 ? 0 : (n - i) * std::log1p(-q);
            const double weight = std::exp(std::lgamma(n + 1.0) - std::lgamma(i + 1.0) -
                                           std::lgamma(n - i + 1.0) + i * std::log(q) + rest);
            sum += weight * std::pow(1 - std::pow(1 - S / m, k * i), k);
        }
        expect_close(fpr_horizontal_loads(m, k, S, n), sum, std::to_string(n), 1e-9);
        EXPECT_EQ(fpr_diced_hv_loads(m, k, S, n), fpr_horizontal_loads(m, k, S, n));
        EXPECT_EQ(fpr_diced_vh_loads(m, k, S, n), fpr_horizontal_loads(m, k, S, n));
    }
}

TEST(slicing, one_slice_is_the_plain_filter) {
    expect_close(fpr_horizontal(5000, 5, 1, 700), fpr(5000, 5, 700), "(4)");
    expect_close(fpr_horizontal_loads(5000, 5, 1, 700), fpr(5000, 5, 700), "loads");
    expect_close(fpr_diced(5000, 5, 7, 1, 700), fpr_horizontal(5000, 5, 7, 700), "diced");
    EXPECT_EQ(fpr(1, 3, 1), 1.0);
    EXPECT_EQ(fpr(100, 3, 0), 0.0);
}

TEST(slicing_vectors, fault_tolerance_parameter) {
    const std::vector<Row> rows = vectors("slicing_fault_parameter");
    for (const Row& row : rows) {
        const unsigned k = row.whole("k");
        const double rate = row.real("fp without failures");
        const double allowed = row.real("allowed fp");
        const double f = row.real("f");
        const double h = fault_parameter_horizontal(f, rate, allowed);
        const double v = fault_parameter_vertical(f, rate, allowed, k);
        expect_close(h, row.real("S_f horizontal"), "horizontal");
        expect_close(v, row.real("S_f vertical"), "vertical");
        const std::string at = row.text("k") + " " + row.text("allowed fp");
        // Whole parameters (3.5 / 0.5) were rounded up by one if their division came out above.
        const double five = row.real("fp with it eq 5");
        const bool above = fpr_failed_horizontal(f, std::ceil(h - 1e-9), rate) - five > 1e-9;
        expect_close(fpr_failed_horizontal(f, std::ceil(h + (above ? 1e-9 : -1e-9)), rate), five,
                     at);
        expect_close(fpr_failed_vertical(f, std::ceil(v - 1e-9), std::pow(rate, 1.0 / k), k),
                     row.real("fp with it eq 6"), at);
    }
    EXPECT_GE(rows.size(), 64u);
}

// Unrounded, the parameter meets the allowed rate exactly.
TEST(slicing, fault_tolerance_parameter_solves_its_equation) {
    for (const double allowed : {0.03, 0.1, 0.4}) {
        for (const double f : {1.0, 3.0, 10.0}) {
            const double fill = std::pow(0.02, 1.0 / 6);
            expect_close(
                fpr_failed_horizontal(f, fault_parameter_horizontal(f, 0.02, allowed), 0.02),
                allowed, "horizontal");
            expect_close(
                fpr_failed_vertical(f, fault_parameter_vertical(f, 0.02, allowed, 6), fill, 6),
                allowed, "vertical");
        }
    }
}

// The paper's example: more than 30 horizontal slices, less than 20 vertical ones.
TEST(slicing, example_of_the_paper) {
    EXPECT_EQ(std::ceil(fault_parameter_horizontal(4, 0.02, 0.15)), 31);
    EXPECT_EQ(std::ceil(fault_parameter_vertical(4, 0.02, 0.15, 4)), 11);
}

TEST(slicing_vectors, formulas_of_failures) {
    const std::vector<Row> rows = vectors("slicing_faults");
    unsigned compared = 0;
    for (const Row& row : rows) {
        const unsigned k = row.whole("k");
        const double S = row.real("S");
        const double f = row.real("f");
        const double fill = fill_limit(row.real("m"), k, row.real("n"));
        const double rate = fpr_limit(row.real("m"), k, row.real("n"));
        const unsigned x = row.has("x") ? row.whole("x") : 0;
        const std::string& what = row.text("quantity ");
        const auto expect = [&](const char* quantity, double derived, double printed) {
            if (what == quantity) {
                expect_close(derived, row.real("formula (derived)"), what);
                // Where loads vary between slices, the derived rate is up to 9 % too low.
                const double noise =
                    std::max(row.real("simulated_stderr"), std::sqrt(derived / 2e5));
                EXPECT_NEAR(row.real("simulated"), derived, 0.1 * derived + 4 * noise) << what;
                expect_close(printed, row.real("formula (as printed)"), what);
                ++compared;
            }
        };
        const double six = fpr_failed_vertical(f, S, fill, k);
        const double five = fpr_failed_horizontal(f, S, rate);
        const double v = fpr_unset_vertical(f, S, fill, k);
        const double h = fpr_unset_horizontal(f, S, rate);
        expect("fp vertical, failed = set (eq 6)", six, six);
        expect("fp horizontal, failed = duplicate (eq 5)", five, five);
        expect("fp vertical, failed = distinct", v, v);
        expect("fp horizontal, failed = distinct", h, h);
        expect("fn vertical, failed = distinct", fnr_unset_vertical(f, S, k),
               fnr_unset_vertical_printed(f, S, k));
        expect("fn horizontal, failed = distinct", fnr_unset_horizontal(f, S), f / S);
        if (x == 0) {
            continue;
        }
        expect("fn of >= x alive", fnr_hybrid(f, S, k, x), fnr_hybrid_printed(f, S, k, x));
        expect("fp of >= x alive and no alive 0", fpr_hybrid_strict(f, S, fill, k, x),
               fpr_hybrid_printed(f, S, fill, x));
        expect("fp of >= x alive and set, zeros ignored", fpr_hybrid_literal(f, S, fill, k, x),
               fpr_hybrid_printed(f, S, fill, x));
    }
    EXPECT_GE(rows.size(), 90u);
    EXPECT_EQ(compared, rows.size());
}

// Both policies are extreme cases of the heuristic.
TEST(slicing, x_of_k_at_its_ends) {
    expect_close(fpr_hybrid_strict(4, 40, 0.4, 7, 0), fpr_failed_vertical(4, 40, 0.4, 7), "x = 0");
    expect_close(fpr_hybrid_strict(4, 40, 0.4, 7, 7), fpr_unset_vertical(4, 40, 0.4, 7), "x = k");
    expect_close(fnr_hybrid(4, 40, 7, 7), fnr_unset_vertical(4, 40, 7), "x = k");
    EXPECT_EQ(fnr_hybrid(4, 40, 7, 0), 0.0);
}

TEST(slicing_vectors, filter_sizes) {
    const std::vector<Row> rows = vectors("slicing_sizes");
    unsigned agree = 0;
    for (const Row& row : rows) {
        const unsigned k = row.whole("k");
        const double rate = row.real("target fp");
        const double printed = row.real("m printed");
        const double m = bits(row.real("n distinct (printed)"), k, rate);
        expect_close(m, row.real("m computed"), row.text("data set"));
        expect_close(capacity(printed, k, rate), row.real("n that the printed m holds"), "n");
        expect_close(density_limit(printed, k, rate), row.real("density limit z"), "z");
        EXPECT_EQ(std::abs(m - printed) < 100, row.text("agrees within 100 bits(1|0)") == "1");
        agree += std::abs(m - printed) < 100 ? 1 : 0;
    }
    EXPECT_GE(rows.size(), 9u);
    EXPECT_EQ(agree % 6, 0u);  // the three of the web log do not fit its printed n
}

TEST(slicing, capacity_bits_and_density_are_inverse) {
    const double n = capacity(10000, 6, 0.01);
    expect_close(bits(n, 6, 0.01), 10000, "bits");
    expect_close(fpr_limit(10000, 6, n), 0.01, "rate");
    expect_close(fill_limit(10000, 6, n) * 10000, density_limit(10000, 6, 0.01), "density");
    expect_close(fpr_chain(0.01, 1), 0.01, "chain of one");
    expect_close(fpr_chain(0.01, 3), 1 - 0.99 * 0.99 * 0.99, "chain of three");
}

TEST(slicing_vectors, all_timers_equal) {
    const std::vector<Row> rows = vectors("slicing_equal_timers");
    for (const Row& row : rows) {
        expect_close(fpr_all_timers_equal(row.real("m"), row.whole("k")),
                     row.real("fp if all k timers equal"), row.text("m"));
    }
    EXPECT_GE(rows.size(), 4u);
}

TEST(slicing_vectors, timers_with_and_without_the_heuristic) {
    const std::vector<Row> rows = vectors("slicing_equal_timers_sim");
    for (const Row& row : rows) {
        const unsigned k = row.whole("k");
        expect_close(fpr_limit(row.real("m"), k, row.real("w")),
                     row.real("fp without the heuristic eq 2"), row.text("m"));
        expect_close(fpr_equal_timers(row.real("m"), k, row.whole("w"), 1),
                     fpr(row.real("m"), k, row.real("w")), row.text("m"), 1e-9);
        EXPECT_EQ(fnr_equal_timers(row.real("m"), k, row.whole("w"), 1), 0.0);
        // The simulation asked for 798,000 foreign digests, and for four windows of others.
        const unsigned x = row.whole("k' timers that must be equal");
        const double found = fpr_equal_timers(row.real("m"), k, row.whole("w"), x);
        EXPECT_NEAR(row.real("fp_simulated"), found, 0.15 * found + 5 * std::sqrt(found / 798e3));
        const double lost = fnr_equal_timers(row.real("m"), k, row.whole("w"), x);
        EXPECT_NEAR(row.real("fn_simulated"), lost, 0.03 * lost + 0.002);
    }
    EXPECT_GE(rows.size(), 20u);
}

// Enumeration of every combination of ages below w of k independent timers.
TEST(slicing, equal_timers_agree_with_enumeration) {
    constexpr unsigned kTimers = 3;
    constexpr unsigned kWindow = 5;
    constexpr double kM = 11;
    const double p = 1 - std::pow(1 - 1 / kM, kTimers);
    const auto chance = [&](unsigned age) { return p * std::pow(1 - p, age); };
    double with[kTimers + 1] = {};
    for (unsigned a = 0; a < kWindow; ++a) {
        for (unsigned b = 0; b < kWindow; ++b) {
            for (unsigned c = 0; c < kWindow; ++c) {
                const unsigned largest =
                    a == b && b == c ? 3 : (a == b || b == c || a == c ? 2 : 1);
                for (unsigned x = 1; x <= largest; ++x) {
                    with[x] += chance(a) * chance(b) * chance(c);
                }
            }
        }
    }
    for (unsigned x = 1; x <= kTimers; ++x) {
        expect_close(fpr_equal_timers(kM, kTimers, kWindow, x), with[x], std::to_string(x), 1e-9);
    }
    double lost = 0;  // all three timers, or two, have been overwritten
    for (unsigned a = 0; a < kWindow; ++a) {
        const double own = std::pow(1 - p, a);
        lost += std::pow(1 - own, 3) + 3 * own * std::pow(1 - own, 2);
    }
    expect_close(fnr_equal_timers(kM, kTimers, kWindow, 2), lost / kWindow, "lost");
}

// Sum over ages of p_a^k, which is exact however small.
TEST(slicing, all_timers_equal_in_a_window) {
    for (const unsigned k : {2U, 8U, 20U}) {
        const double m = 5000;
        const double w = 700;
        const double p = 1 - std::pow(1 - 1 / m, k);
        const double sum = std::pow(p, k) * (1 - std::pow(1 - p, k * w)) / (1 - std::pow(1 - p, k));
        expect_close(fpr_equal_timers(m, k, 700, k), sum, std::to_string(k), 1e-9);
    }
}

TEST(slicing_vectors, fairness) {
    const std::vector<Row> rows = vectors("slicing_fairness");
    for (const Row& row : rows) {
        std::vector<double> loads;
        std::istringstream in(row.text("loads"));
        for (std::string load; std::getline(in, load, ';');) {
            loads.push_back(std::stod(load));
        }
        expect_close(slicing::fairness(loads), row.real("fairness index"), row.text("loads"));
        expect_close(largest_share(loads), row.real("largest share"), row.text("loads"));
    }
    EXPECT_GE(rows.size(), 6u);
}

// Two keys of equal weight and two slices, enumerated: together (fairness 1/2) or apart (1).
TEST(slicing, expected_fairness_is_the_harmonic_mean) {
    expect_close(fairness_expected(2, 0.5, 1), 1 / ((2.0 + 1.0) / 2), "two keys");
    EXPECT_EQ(fairness_expected(1, 0.5, 1), 1.0);
    EXPECT_LT(fairness_expected(5, 0.5, 1), fairness_expected(5, 0.5, 4));
}

TEST(slicing, contacted_slices_by_enumeration) {
    // 3 cells over 2 slices: all in one with probability 1/4.
    expect_close(contacted(2, 3), 1.75, "mean");
    expect_close(contacted_variance(2, 3), 3.25 - 1.75 * 1.75, "variance");
    // 2 cells over 5 slices: together with probability 1/5.
    expect_close(contacted(5, 2), 1.8, "mean");
    expect_close(contacted_variance(5, 2), 0.16, "variance");
    EXPECT_EQ(contacted(1, 9), 1.0);
    EXPECT_EQ(contacted_variance(1, 9), 0.0);
}

}  // namespace
}  // namespace unecho::sizing::slicing::slicing_test
