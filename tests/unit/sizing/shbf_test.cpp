// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sizing/sets/shbf.h"

#include <cmath>
#include <limits>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "support/vectors.h"

namespace unecho::sizing::shbf_test {
namespace {

using test::Row;
using test::vectors;

// The vectors have 12 digits.
void expect_same(double value, double expected) {
    EXPECT_NEAR(value, expected, 1e-10 * std::abs(expected)) << expected;
}

std::string place(const Row& row, const std::vector<std::string>& columns) {
    std::string out;
    for (const std::string& column : columns) {
        out.append(column).append(" ").append(row.text(column)).append(" ");
    }
    return out;
}

TEST(shbf_sizing, constants_of_the_paper_are_met) {
    const BloomOptimum shifting = shbf_m_optimum(57);
    const BloomOptimum bloom = bloom_optimum();
    const AssociationOutcomes ten = shbf_a_outcomes(10);
    const std::map<std::string, double> ours{
        {"k_opt*n/m of eq 1 at W=57", shifting.load},
        {"min fpr^(n/m) at W=57", shifting.base},
        {"k_opt*n/m of a Bloom filter", bloom.load},
        {"min fpr^(n/m) of a Bloom filter", bloom.base},
        {"P1 at k=10", ten.clear},
        {"P4 at k=10", ten.one_other},
        {"P7 at k=10", ten.both_others},
        {"iBF clear answer at k=8", two_bloom_clear(8)},
        {"ShBF_A clear answer at k=8", shbf_a_outcomes(8).clear},
        {"iBF memory / ShBF_A memory, 1M+1M, 0.25M common",
         two_bloom_bits(1e6, 1e6, 8) / shbf_a_bits(1e6, 1e6, 0.25e6, 8)},
        {"W for 32-bit words", shbf_max_w_bar(32)},
        {"W for 64-bit words", shbf_max_w_bar(64)},
        {"W for 64-bit words and 4-bit counters", shbf_max_w_bar(64, 4)}};
    const std::vector<Row> rows = vectors("shbf_constants");
    ASSERT_GE(rows.size(), 13U);
    for (const Row& row : rows) {
        const std::string& name = row.text("quantity");
        SCOPED_TRACE(name);
        ASSERT_TRUE(ours.contains(name));
        // A minimum is exact only to the square root of the precision.
        EXPECT_NEAR(ours.at(name), row.real("computed"), 1e-7 * row.real("computed"));
        if (row.has("printed")) {
            const std::string& printed = row.text("printed");
            const auto point = printed.find('.');
            const double digits =
                point == std::string::npos ? 0 : static_cast<double>(printed.size() - point - 1);
            EXPECT_NEAR(ours.at(name), row.real("printed"), 0.5 * std::pow(10, -digits));
        }
    }
}

TEST(shbf_sizing, optimum_for_every_w_bar) {
    const std::vector<Row> rows = vectors("shbf_optimum");
    ASSERT_GE(rows.size(), 9U);
    for (const Row& row : rows) {
        const BloomOptimum optimum = shbf_m_optimum(row.whole("W"));
        EXPECT_NEAR(optimum.load, row.real("k_opt*n/m"), 1e-7);
        expect_same(optimum.base, row.real("min fpr^(n/m)"));
    }
}

TEST(shbf_sizing, membership_formulas) {
    const std::vector<Row> rows = vectors("shbf_m_fpr");
    ASSERT_GE(rows.size(), 100U);
    for (const Row& row : rows) {
        const double m = row.real("m");
        const unsigned n = row.whole("n");
        const double k = row.real("k");
        const unsigned w_bar = row.whole("W");
        SCOPED_TRACE(place(row, {"m", "n", "k", "W"}));
        expect_same(shbf_zero_exact(m, n, k), row.real("p' eq 2"));
        expect_same(shbf_zero(m, n, k), row.real("p eq 3"));
        expect_same(shbf_m_fpr_printed(m, n, k, w_bar), row.real("fpr eq 1"));
        expect_same(shbf_m_fpr_pair(m, n, k, w_bar), row.real("fpr pair inclusion-exclusion"));
        expect_same(ShbfGroupModel(w_bar, 1).fpr(m, n, k),
                    row.real("fpr pair inclusion-exclusion"));
        // Binomial weights by logarithms of factorials.
        EXPECT_NEAR(shbf_m_fpr_shared(m, n, k, w_bar) / row.real("fpr shared offset"), 1, 1e-9);
        expect_same(bloom_fpr(m, n, k), row.real("fpr Bloom eq 8"));
    }
}

TEST(shbf_sizing, general_formulas) {
    const std::vector<Row> rows = vectors("shbf_general");
    ASSERT_GE(rows.size(), 72U);
    for (const Row& row : rows) {
        const double m = row.real("m");
        const double n = row.real("n");
        const double k = row.real("k");
        const unsigned w_bar = row.whole("W");
        const unsigned t = row.whole("t");
        SCOPED_TRACE(place(row, {"t", "k", "W", "m", "n"}));
        expect_same(shbf_zero_group(m, n, k, t), row.real("p' eq 10"));
        expect_same(shbf_zero(m, n, k), row.real("e^(-kn/m)"));
        expect_same(shbf_group_match(shbf_zero(m, n, k), w_bar, t), row.real("f_group eq 12"));
        expect_same(shbf_fpr_printed(m, n, k, w_bar, t), row.real("fpr eq 11"));
        expect_same(bloom_fpr(m, n, k), row.real("fpr Bloom"));
    }
}

// At t = 1 both formulas are those printed for the pair; for wide words they are Bloom's.
TEST(shbf_sizing, general_formula_has_its_limits) {
    for (const double p : {0.0, 0.1, 0.5, 0.9, 1.0}) {
        for (const unsigned w_bar : {3U, 9U, 57U}) {
            EXPECT_NEAR(shbf_group_match(p, w_bar, 1), 1 - p + p * p / (w_bar - 1), 1e-12);
        }
        for (const unsigned t : {1U, 2U, 5U}) {
            EXPECT_NEAR(shbf_group_match(p, 100'000'000, t), std::pow(1 - p, t), 1e-6);
        }
    }
    EXPECT_NEAR(ShbfGroupModel(8001, 2).fpr(1e6, 8e4, 12) / bloom_fpr(1e6, 8e4, 12), 1, 0.01);
}

// The simulated arrays are an independent reference: the printed formula is within its stated
// error, the derived one within 1 % plus sampling error (4 standard errors).
TEST(shbf_sizing, derived_rate_is_the_simulated_one) {
    const std::vector<Row> rows = vectors("shbf_m_sim");
    ASSERT_GE(rows.size(), 25U);
    for (const Row& row : rows) {
        const double m = row.real("m");
        const unsigned n = row.whole("n");
        const double k = row.real("k");
        const unsigned w_bar = row.whole("W");
        SCOPED_TRACE(place(row, {"m", "n", "k", "W"}));
        const double simulated = row.real("fpr_simulated");
        const double noise = 4 * row.real("stderr");
        EXPECT_NEAR(shbf_m_fpr_pair(m, n, k, w_bar), simulated, 0.01 * simulated + noise);
        EXPECT_NEAR(shbf_m_fpr_shared(m, n, k, w_bar), simulated, 0.01 * simulated + noise);
        expect_same(shbf_m_fpr_printed(m, n, k, w_bar), row.real("fpr eq 1"));
        EXPECT_LT(shbf_m_fpr_printed(m, n, k, w_bar), 1.38 * simulated + noise);
        if (w_bar == 57) {
            EXPECT_NEAR(shbf_m_fpr_printed(m, n, k, w_bar), simulated, 0.06 * simulated + noise);
        }
    }
}

TEST(shbf_sizing, derived_rate_for_t_shifts_is_the_simulated_one) {
    const std::vector<Row> rows = vectors("shbf_general_sim");
    ASSERT_GE(rows.size(), 6U);
    for (const Row& row : rows) {
        const double m = row.real("m");
        const double n = row.real("n");
        const double k = row.real("k");
        const unsigned w_bar = row.whole("W");
        const unsigned t = row.whole("t");
        SCOPED_TRACE(place(row, {"t", "k", "W"}));
        const double simulated = row.real("fpr_simulated");
        const double noise = 4 * row.real("stderr");
        EXPECT_NEAR(ShbfGroupModel(w_bar, t).fpr(m, n, k), simulated, 0.01 * simulated + noise);
        EXPECT_NEAR(shbf_fpr_printed(m, n, k, w_bar, t), simulated, 0.08 * simulated + noise);
        expect_same(shbf_fpr_printed(m, n, k, w_bar, t), row.real("fpr eq 11"));
    }
}

TEST(shbf_sizing, association_formulas) {
    const std::vector<Row> rows = vectors("shbf_a");
    ASSERT_GE(rows.size(), 15U);
    for (const Row& row : rows) {
        const unsigned k = row.whole("k");
        const AssociationOutcomes outcomes = shbf_a_outcomes(k);
        expect_same(outcomes.clear, row.real("P1=P2=P3"));
        expect_same(outcomes.one_other, row.real("P4=P5=P6"));
        expect_same(outcomes.both_others, row.real("P7"));
        expect_same(outcomes.clear + 2 * outcomes.one_other + outcomes.both_others,
                    row.real("P1+2P4+P7"));
        expect_same(two_bloom_clear(k), row.real("iBF clear answer"));
        expect_same(two_bloom_bits(1e6, 1e6, k), row.real("iBF memory for 1M;1M;0.25M common"));
        expect_same(shbf_a_bits(1e6, 1e6, 0.25e6, k), row.real("ShBF_A memory"));
    }
    EXPECT_NEAR(shbf_a_outcomes(2, 0.25).clear, std::pow(15.0 / 16, 2), 1e-12);
    for (const Row& row : vectors("shbf_a_sim")) {
        const AssociationOutcomes outcomes = shbf_a_outcomes(row.whole("k"));
        const double formula = row.real("formula eq 16");
        EXPECT_TRUE(formula == 0 || std::abs(formula - outcomes.clear) < 1e-9 ||
                    std::abs(formula - outcomes.one_other) < 1e-9 ||
                    std::abs(formula - outcomes.both_others) < 1e-9);
        // 20 arrays of 5,000 elements in both sets, and more in one.
        EXPECT_NEAR(row.real("simulated"), formula, 4 * std::sqrt(formula * (1 - formula) / 1e5));
    }
}

TEST(shbf_sizing, multiplicity_formulas) {
    const std::vector<Row> rows = vectors("shbf_x");
    ASSERT_GE(rows.size(), 63U);
    for (const Row& row : rows) {
        const double m = row.real("m");
        const double n = row.real("n");
        const double k = row.real("k");
        const unsigned c = row.whole("c");
        const unsigned j = row.whole("j");
        SCOPED_TRACE(place(row, {"k", "j"}));
        expect_same(shbf_x_chance(m, n, k), row.real("f0 eq 17"));
        if (j == 0) {
            expect_same(shbf_x_correct_absent(m, n, k, c), row.real("CR eq 18"));
        } else {
            expect_same(shbf_x_correct_smallest(m, n, k, j), row.real("CR' eq 19 as printed"));
            expect_same(shbf_x_correct_largest(m, n, k, c, j),
                        row.real("CR' largest candidate (1-f0)^(c-j)"));
        }
    }
    for (const Row& row : vectors("shbf_x_sim")) {
        const double m = row.real("m");
        const double n = row.real("n");
        const double k = row.real("k");
        const unsigned c = row.whole("c");
        const unsigned j = row.whole("j");
        EXPECT_NEAR(row.real("simulated, largest candidate"),
                    j == 0 ? shbf_x_correct_absent(m, n, k, c)
                           : shbf_x_correct_largest(m, n, k, c, j),
                    0.008);
        if (j != 0) {
            EXPECT_NEAR(row.real("simulated, smallest candidate"),
                        shbf_x_correct_smallest(m, n, k, j), 0.008);
        }
    }
}

TEST(shbf_sizing, membership_geometry_meets_its_rate_and_no_smaller_does) {
    for (const double rate : {0.5, 0.1, 1e-2, 1e-3, 1e-6, 1e-9, 1e-12}) {
        for (const unsigned t : {1U, 2U, 3U, 5U}) {
            const auto g = size_shbf_m({.n = 100'000, .max_fpr = rate, .t = t});
            ASSERT_TRUE(g);
            SCOPED_TRACE(std::to_string(rate) + " " + std::to_string(t));
            const ShbfGroupModel model(57, t);
            EXPECT_EQ(g->k % (t + 1), 0U);
            EXPECT_LE(g->fpr, rate);
            EXPECT_EQ(g->fpr, model.fpr(static_cast<double>(g->m), 1e5, g->k));
            // In 1.1 % less memory no k suffices.
            for (unsigned k = t + 1; k <= 64; k += t + 1) {
                EXPECT_GT(model.fpr(static_cast<double>(g->m) * 0.989, 1e5, k), rate) << k;
            }
            // Close to what a Bloom filter needs.
            const double bloom = std::log(rate) / std::log(bloom_optimum().base) * 1e5;
            EXPECT_LT(static_cast<double>(g->m), bloom * (t == 1 ? 1.02 : 1.3) + 1e5 * (t + 1));
        }
    }
    const auto g = size_shbf_m({.n = 100'000, .max_fpr = 1e-3});
    ASSERT_TRUE(g);
    EXPECT_EQ(g->k, 10U);
}

TEST(shbf_sizing, membership_targets_are_checked) {
    const auto message = [](const ShbfMTargets& targets) {
        const auto geometry = size_shbf_m(targets);
        return geometry ? "valid" : geometry.error().context;
    };
    EXPECT_EQ(message({.n = 1, .max_fpr = 0.5}), "valid");
    EXPECT_EQ(message({.n = 9, .max_fpr = 0.5, .t = 8, .w_bar = 9}), "valid");
    EXPECT_EQ(message({.n = 0, .max_fpr = 0.5}), "shbf: n = 0; allowed: 1 to 2^38");
    EXPECT_EQ(message({.n = (std::uint64_t{1} << 38) + 1, .max_fpr = 0.5}),
              "shbf: n = 274877906945; allowed: 1 to 2^38");
    EXPECT_EQ(message({.n = 9, .max_fpr = 0.51}),
              "shbf: max_fpr = 0.510000; allowed: 1e-12 to 0.5");
    EXPECT_EQ(message({.n = 9, .max_fpr = 0}), "shbf: max_fpr = 0.000000; allowed: 1e-12 to 0.5");
    EXPECT_EQ(message({.n = 9, .max_fpr = std::numeric_limits<double>::quiet_NaN()}),
              "shbf: max_fpr = nan; allowed: 1e-12 to 0.5");
    EXPECT_EQ(message({.n = 9, .max_fpr = 0.1, .t = 0}), "shbf: t = 0; allowed: 1 to 8");
    EXPECT_EQ(message({.n = 9, .max_fpr = 0.1, .t = 9}), "shbf: t = 9; allowed: 1 to 8");
    EXPECT_EQ(message({.n = 9, .max_fpr = 0.1, .t = 3, .w_bar = 3}),
              "shbf: w_bar = 3; allowed: t + 1 to 57");
    EXPECT_EQ(message({.n = 9, .max_fpr = 0.1, .w_bar = 58}),
              "shbf: w_bar = 58; allowed: t + 1 to 57");
    EXPECT_EQ(message({.n = std::uint64_t{1} << 38, .max_fpr = 1e-12, .t = 8, .w_bar = 9}),
              "shbf: more than 2^45 bits are needed");
}

TEST(shbf_sizing, association_geometry_is_clear_enough) {
    for (const double clear : {0.1, 0.5, 0.9, 0.99, 0.999999, 1 - 1e-12}) {
        const auto g = size_shbf_a(1000, clear);
        ASSERT_TRUE(g);
        EXPECT_GE(shbf_a_outcomes(g->k).clear, clear);
        EXPECT_TRUE(g->k == 1 || shbf_a_outcomes(g->k - 1).clear < clear);
        EXPECT_NEAR(static_cast<double>(g->m), shbf_a_bits(1000, 0, 0, g->k), 1);
        EXPECT_LE(g->k, 64U);
    }
    EXPECT_EQ(size_shbf_a(0, 0.5).error().context, "shbf: n = 0; allowed: 1 to 2^38");
    EXPECT_EQ(size_shbf_a(1, 1).error().context,
              "shbf: min_clear = 1.000000; allowed: above 0, at most 1 - 1e-12");
}

TEST(shbf_sizing, multiplicity_geometry_is_correct_enough) {
    for (const double correct : {0.01, 0.5, 0.9, 0.99, 0.999999, 1 - 1e-12}) {
        for (const unsigned c : {1U, 10U, 57U}) {
            const auto g = size_shbf_x(100'000, c, correct);
            ASSERT_TRUE(g);
            const auto m = static_cast<double>(g->m);
            SCOPED_TRACE(std::to_string(correct) + " " + std::to_string(c));
            EXPECT_GE(shbf_x_correct_absent(m, 1e5, g->k, c), correct * (1 - 1e-12));
            for (unsigned k = 1; k <= 64; ++k) {
                EXPECT_LT(shbf_x_correct_absent(m * 0.9999, 1e5, k, c), correct) << k;
            }
            EXPECT_LE(g->k, 64U);
        }
    }
    EXPECT_EQ(size_shbf_x(0, 1, 0.5).error().context, "shbf: n = 0; allowed: 1 to 2^38");
    EXPECT_EQ(size_shbf_x(1, 0, 0.5).error().context, "shbf: c = 0; allowed: 1 to 57");
    EXPECT_EQ(size_shbf_x(1, 58, 0.5).error().context, "shbf: c = 58; allowed: 1 to 57");
    EXPECT_EQ(size_shbf_x(1, 1, 0).error().context,
              "shbf: min_correct = 0.000000; allowed: above 0, at most 1 - 1e-12");
}

}  // namespace
}  // namespace unecho::sizing::shbf_test
