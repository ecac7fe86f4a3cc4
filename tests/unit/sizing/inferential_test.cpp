// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sizing/inferential.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "filters/window/segmented/btbf.h"
#include "support/seed.h"
#include "support/vectors.h"

namespace unecho::sizing::inferential_test {
namespace {

// The vectors are printed with 12 digits.
constexpr double kPrinted = 1e-11;

void expect_printed(double computed, double printed, const std::string& what) {
    EXPECT_NEAR(computed, printed, kPrinted * std::max(1.0, std::abs(printed))) << what;
}

BlockModel small_model() {
    return {.w = 40, .p = 0.05, .B = 5, .m = 300, .k = 4, .distinct = [](double j) {
                return distinct_uniform(j, 100);
            }};
}

// Return P(I_x = i) P(R_x | i) by equations 22 and 24 as printed, with F(r, c, lo).
double joint(const BlockModel& model, const TimerState& state, std::uint64_t i) {
    const double p = model.p * std::pow(1 - model.p, static_cast<double>(i));
    if (!state.age || *state.age == 0) {
        const double f = agreement(model, state.r, 0, static_cast<double>(state.b));
        return i < state.b ? p : p * f;
    }
    const std::uint64_t lo = (*state.age - 1) * model.B + state.b;
    const double f = agreement(model, state.r, state.c, static_cast<double>(lo));
    if (i < lo) {
        return 0;
    }
    const double again = agreement(model, state.c, 0, static_cast<double>(model.B));
    return p * f * (i < lo + model.B ? 1 : again);
}

struct Sums {
    double all = 0;
    double window = 0;
    double ages = 0;
};

Sums sum_up(const BlockModel& model, const TimerState& state) {
    constexpr std::uint64_t kEnd = 900;  // 0.95^900 is negligible
    std::vector<long double> sums(3);
    for (std::uint64_t i = 0; i < kEnd; ++i) {
        const long double weight = joint(model, state, i);
        sums[0] += weight;
        sums[1] += i < model.w ? weight : 0;
        sums[2] += weight * static_cast<long double>(i);
    }
    return {static_cast<double>(sums[0]), static_cast<double>(sums[1]),
            static_cast<double>(sums[2])};
}

// Visit all states that small_model() can show, with ages a little beyond the window.
template <typename Function>
void for_each_state(const BlockModel& model, Function function) {
    for (std::uint64_t b = 0; b < model.B; ++b) {
        for (std::uint64_t age = 0; age <= oldest_in_window(model.w, model.B, b) + 2; ++age) {
            for (unsigned r = 1; r <= model.k; ++r) {
                for (unsigned c = age == 0 ? r : 1; c <= r; ++c) {
                    // Age 0 needs an insertion in the block. Age 1 at b = 0 means all timers.
                    if (age + b > 1 || (age == 1 && c == r)) {
                        SCOPED_TRACE("age " + std::to_string(age) + " b " + std::to_string(b) +
                                     " c " + std::to_string(c) + " r " + std::to_string(r));
                        function(TimerState{age, c, r, b});
                    }
                }
            }
        }
    }
}

TEST(inferential_vectors, posteriors_of_theorems_2_to_5) {
    const auto rows = test::vectors("inferential_posterior");
    EXPECT_GE(rows.size(), 200U);
    for (const test::Row& row : rows) {
        const double universe = row.real("universe");
        const BlockModel model{.w = row.whole("w"),
                               .p = row.real("p_x"),
                               .B = row.whole("B"),
                               .m = row.whole("m"),
                               .k = row.whole("k"),
                               .distinct = [=](double j) { return distinct_uniform(j, universe); }};
        const TimerState state{row.whole("lambda_x"), row.whole("c_x"), row.whole("r_x"),
                               row.whole("b")};
        const std::string where = "case " + row.text("case");
        expect_printed(model.distinct(row.real("B")), row.real("D(B)"), where);
        expect_printed(agreement(model, state.c, 0, row.real("B")), row.real("F(c_x,0,B)"), where);
        expect_printed(posterior(model, state), row.real("posterior_closed_form"), where);
        expect_printed(posterior(model, state), row.real("posterior_summed"), where);
        const auto table = PosteriorTable::make(model);
        ASSERT_TRUE(table) << table.error().context;
        expect_printed(table->posterior(state), row.real("posterior_closed_form"), where);
        const unsigned theorem = row.whole("theorem");
        const std::uint64_t last = oldest_in_window(model.w, model.B, state.b);
        EXPECT_EQ(theorem, *state.age > last    ? 2U
                           : *state.age == 0    ? 3U
                           : *state.age == last ? 5U
                                                : 4U);
    }
}

TEST(inferential_vectors, distinct_keys) {
    for (const test::Row& row : test::vectors("inferential_distinct")) {
        const double universe = row.real("universe");
        const double j = row.real("j");
        const std::string where = row.text("universe") + " " + row.text("j");
        const double h = harmonic(row.whole("universe"));
        expect_printed(h, row.real("H_U"), where);
        expect_printed(distinct_uniform(j, universe), row.real("D_uniform eq 16"), where);
        expect_printed(distinct_power_law(j, row.whole("universe")),
                       row.real("D_powerlaw eq 15 exact"), where);
        expect_printed(distinct_power_law_approximate(j, universe, h), row.real("D_powerlaw eq 17"),
                       where);
    }
}

TEST(inferential_vectors, classic_bloom_filter) {
    for (const test::Row& row : test::vectors("inferential_classic")) {
        const double n = row.real("n");
        const double m = row.real("m");
        const unsigned r = row.whole("r_x");
        const unsigned c = row.whole("c_x");
        const double accident = bloom_false_positive(m, row.whole("k"), n, r);
        expect_printed(accident, row.real("P_FP eq 1"), "P_FP");
        expect_printed(posterior_bloom(row.real("p_x"), n, accident, c, r),
                       row.real("posterior theorem 1"), "theorem 1");
        if (c == r) {
            expect_printed(posterior_bloom_half_full(row.real("p_x"), n, m / n),
                           row.real("posterior eq 14 (k=(m/n)ln2)"), "equation 14");
        }
    }
}

TEST(inferential_vectors, decisions) {
    for (const test::Row& row : test::vectors("inferential_decision")) {
        const Penalties penalties{row.real("penalty_fp"), row.real("penalty_fn")};
        EXPECT_EQ(decide(row.real("posterior"), penalties), row.whole("answer_pos(1|0)") == 1)
            << row.text("posterior") << " " << row.text("penalty_fp");
    }
}

TEST(inferential_vectors, block_sizes) {
    for (const test::Row& row : test::vectors("btbf_parameters")) {
        const std::uint64_t w = row.whole("w");
        const unsigned k = row.whole("k");
        const std::string where = row.text("w") + " " + row.text("bpi") + " " + std::to_string(k);
        const auto sizes = btbf_parameters(w, w * row.whole("bpi"), k);
        ASSERT_TRUE(sizes) << where;
        EXPECT_EQ(sizes->m, row.whole("m")) << where;
        EXPECT_EQ(sizes->bpt, row.whole("bpt")) << where;
        EXPECT_EQ(sizes->B, row.whole("B")) << where;
        EXPECT_EQ(sizes->P, row.whole("padding")) << where;
        EXPECT_EQ(sizes->T, row.whole("T_max")) << where;
        const auto params = filter::BtbfParams::make({.w = w,
                                                      .B = sizes->B,
                                                      .k = k,
                                                      .m = sizes->m,
                                                      .bpt = sizes->bpt,
                                                      .P = static_cast<unsigned>(sizes->P)});
        ASSERT_TRUE(params) << where << ": " << params.error().context;
        EXPECT_EQ(params->visits(), row.whole("timers to check per insertion")) << where;
        EXPECT_EQ(params->kept() + 1, row.whole("expiry age at b=0")) << where;
    }
}

TEST(btbf_parameters, blocks_are_the_smallest_that_fit) {
    // bpt = 3 distinguishes 6 ages besides the present one. With w = 100 and one timer no padding
    // is needed, and T = ceil(100 / B) + 1 <= 6.
    const auto one = btbf_parameters(100, 3, 1);
    ASSERT_TRUE(one);
    EXPECT_EQ(one->B, 20U);
    EXPECT_EQ(one->T, 6U);
    EXPECT_EQ(btbf_parameters(100, 1 << 20, 4, 10)->bpt, 10U);
    EXPECT_EQ(btbf_parameters(100, 1 << 20, 4, 63)->B, 1U);
    EXPECT_FALSE(btbf_parameters(100, 2, 1));
    EXPECT_FALSE(btbf_parameters(0, 100, 1));
    EXPECT_FALSE(btbf_parameters(100, 100, 0));
    EXPECT_FALSE(btbf_parameters(1, 1 << 20, 1));
}

TEST(prior, parts_add_up_and_share_gives_p_back) {
    EXPECT_NEAR(prior_between(0.01, 0, 100), 1 - std::pow(0.99, 100), 1e-14);
    EXPECT_NEAR(prior_between(0.01, 0, 40) + prior_between(0.01, 40, 100),
                prior_between(0.01, 0, 100), 1e-14);
    EXPECT_NEAR(prior_between(0.3, 2, 3), 0.3 * 0.7 * 0.7, 1e-14);
    const double p = insertion_probability(0.2, 5000);
    EXPECT_NEAR(prior_between(p, 0, 5000), 0.2, 1e-14);
}

TEST(interpolate_distinct, meets_its_points_and_powers_exactly) {
    EXPECT_DOUBLE_EQ(interpolate_distinct(4, 4, 3.5, 16, 9), 3.5);
    EXPECT_DOUBLE_EQ(interpolate_distinct(16, 4, 3.5, 16, 9), 9);
    EXPECT_NEAR(interpolate_distinct(9, 4, std::sqrt(4.0), 16, std::sqrt(16.0)), 3, 1e-14);
}

TEST(distinct_samples, bad_ones_are_refused) {
    const auto message = [](std::vector<double> samples) {
        const auto made = DistinctSamples::make(std::move(samples));
        return made ? "valid" : made.error().context;
    };
    EXPECT_EQ(message({1, 1}), "valid");
    EXPECT_EQ(message({1}), "inferential: 1 samples of D; allowed: at least 2");
    EXPECT_EQ(message({0, 1}),
              "inferential: a sample of D of 0.000000; allowed: positive, finite, "
              "not below the one before");
    EXPECT_NE(message({2, 1}), "valid");
    EXPECT_NE(message({2, NAN}), "valid");
    EXPECT_NE(message({2, INFINITY}), "valid");
}

TEST(block_model, limits_are_named) {
    const auto message = [](auto change) {
        BlockModel model = small_model();
        change(model);
        const auto table = PosteriorTable::make(model);
        return table ? "valid" : table.error().context;
    };
    EXPECT_EQ(message([](BlockModel&) {}), "valid");
    EXPECT_EQ(message([](BlockModel& m) { m.p = 0; }),
              "inferential: p = 0.000000; allowed: above 0, below 1");
    EXPECT_NE(message([](BlockModel& m) { m.p = 1; }), "valid");
    EXPECT_NE(message([](BlockModel& m) { m.p = NAN; }), "valid");
    EXPECT_EQ(message([](BlockModel& m) { m.B = 0; }),
              "inferential: B = 0 insertions; allowed: 1 to w, that is 40");
    EXPECT_EQ(message([](BlockModel& m) { m.B = 101; }),
              "inferential: B = 101 insertions; allowed: 1 to w, that is 40");
    EXPECT_EQ(message([](BlockModel& m) { m.m = 0; }),
              "inferential: m = 0, k = 4; allowed: 1 or more");
    EXPECT_EQ(message([](BlockModel& m) { m.k = 0; }),
              "inferential: m = 300, k = 0; allowed: 1 or more");
    EXPECT_EQ(message([](BlockModel& m) { m.distinct = nullptr; }),
              "inferential: no D(j); allowed: any curve");
    EXPECT_EQ(message([](BlockModel& m) { m.k = 33; }), "inferential: k = 33; allowed: 1 to 32");
    EXPECT_EQ(message([](BlockModel& m) { m.w = m.B = (1ULL << 31) + 1; }),
              "inferential: B = 2147483649; allowed: 1 to 2147483648");
    EXPECT_EQ(message([](BlockModel& m) { m.w = 5 * 65536 + 1; }),
              "inferential: a window of 65537 blocks; allowed: 1 to 65536");
}

TEST(oldest_in_window, is_the_ceiling) {
    EXPECT_EQ(oldest_in_window(10, 4, 0), 3U);
    EXPECT_EQ(oldest_in_window(10, 4, 1), 3U);
    EXPECT_EQ(oldest_in_window(10, 4, 2), 2U);
    EXPECT_EQ(oldest_in_window(10, 4, 3), 2U);
    EXPECT_EQ(oldest_in_window(8, 4, 3), 2U);
    EXPECT_EQ(oldest_in_window(3, 4, 3), 0U);
}

// Closed forms against sums over all ages of equation 10 with 21, 22 and 24.
TEST(age_posterior, closed_forms_equal_direct_sums) {
    const BlockModel model = small_model();
    for_each_state(model, [&](const TimerState& state) {
        const Sums sums = sum_up(model, state);
        ASSERT_NEAR(posterior(model, state), sums.window / sums.all, 1e-11);
        ASSERT_NEAR(expected_age(model, state), sums.ages / sums.all, 1e-8);
        double most = -1;
        double mode = 0;
        for (std::uint64_t i = 0; i < 200; ++i) {
            const double exact = joint(model, state, i) / sums.all;
            ASSERT_NEAR(age_posterior(model, state, static_cast<double>(i)), exact, 1e-12) << i;
            if (exact > most) {
                most = exact;
                mode = static_cast<double>(i);
            }
        }
        ASSERT_EQ(most_likely_age(model, state), mode);
        ASSERT_EQ(likelihood(model, state, mode), 1);
    });
}

TEST(age_posterior, prior_without_an_explanation_gives_nothing) {
    const std::vector<double> young{0.5, 0.5};
    EXPECT_TRUE(age_posterior(small_model(), {.age = 5, .c = 1, .r = 4}, young).empty());
    EXPECT_TRUE(
        age_posterior(small_model(), {.age = 5, .c = 1, .r = 4}, std::vector<double>{}).empty());
    // Age 1 at b = 1 means 1 insertion or more.
    const std::vector<double> one = age_posterior(small_model(), {1, 1, 4, 1}, young);
    EXPECT_EQ(one, (std::vector<double>{0, 1}));
}

// An expired state only excludes the ages that the sweep spares.
TEST(age_posterior, expired_is_older_than_the_window) {
    const BlockModel model = small_model();
    const TimerState expired{std::nullopt, 4, 4, 3};
    EXPECT_EQ(posterior(model, expired), 0);
    EXPECT_EQ(most_likely_age(model, expired), 8 * 5 + 3);
    EXPECT_NEAR(expected_age(model, expired), 8 * 5 + 3 + 19, 1e-9);
    EXPECT_EQ(likelihood(model, expired, 42), 0);
    EXPECT_EQ(likelihood(model, expired, 43), 1);
    EXPECT_EQ(PosteriorTable::make(model)->posterior(expired), 0);
    EXPECT_NEAR(age_posterior(model, expired, 43), 0.05, 1e-12);
    EXPECT_EQ(age_posterior(model, expired, 42), 0);
}

// The hot path's table decides as the posterior does, in every state.
TEST(posterior_table, limits_decide_as_the_posterior_does) {
    std::mt19937_64 random(test::seed());
    for (unsigned trial = 0; trial < 60; ++trial) {
        SCOPED_TRACE(test::seed_note() + " trial " + std::to_string(trial));
        BlockModel model;
        model.w = 20 + random() % 400;
        model.B = 1 + random() % 50 % model.w;
        model.m = 100 + random() % 2000;
        model.k = 1 + static_cast<unsigned>(random() % 6);
        model.p = std::exp2(-static_cast<double>(random() % 14) - 0.5);
        const double universe = 2 / model.p;
        model.distinct = [=](double j) { return distinct_uniform(j, universe); };
        const Penalties penalties{1 + static_cast<double>(random() % 9),
                                  1 + static_cast<double>(random() % 9)};
        const auto made = PosteriorTable::make(model);
        ASSERT_TRUE(made) << made.error().context;
        const auto limits = made->limits(penalties);
        const filter::DecisionTable table(limits, model.k);
        unsigned echoes = 0;
        for_each_state(model, [&](const TimerState& state) {
            const double chance = posterior(model, state);
            ASSERT_NEAR(made->posterior(state), chance, 1e-15);
            const bool echo =
                table.echo({static_cast<unsigned>(*state.age), state.c, state.r}, state.b);
            ASSERT_EQ(echo, decide(chance, penalties)) << chance;
            echoes += echo ? 1 : 0;
        });
        EXPECT_FALSE(table.echo({filter::kExpiredAge, 1, 1}, 0));
    }
}

// The posterior at age 0 rises again where D(b) stops and p continues: both ends are "echo".
TEST(posterior_table, present_block_may_have_two_limits) {
    const BlockModel model{
        .w = 1000, .p = 0.001, .B = 1000, .m = 50, .k = 2, .distinct = [](double j) {
            return std::min(j, 30.0);
        }};
    const Penalties penalties{1.77, 1};
    const auto limits = PosteriorTable::make(model)->limits(penalties);
    const filter::DecisionTable table(limits, model.k);
    unsigned switches = 0;
    bool before = true;
    for (std::uint64_t b = 1; b < model.B; ++b) {
        const bool echo = table.echo({0, 1, 1}, b);
        ASSERT_EQ(echo, decide(posterior(model, {0, 1, 1, b}), penalties)) << b;
        switches += echo != before ? 1 : 0;
        before = echo;
    }
    EXPECT_EQ(switches, 2U);
}

}  // namespace
}  // namespace unecho::sizing::inferential_test
