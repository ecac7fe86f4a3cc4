// SPDX-License-Identifier: BSD-3-Clause
#include "dedup/engines/rules.h"

#include <cmath>

#include <gtest/gtest.h>

#include "filters/hash/digest.h"
#include "support/every_engine.h"
#include "unit/engines/planned.h"

namespace unecho::engines {
namespace {

FilterSpec filter_of(Rule rule) {
    FilterSpec filter = echo_spec();
    filter.rule = rule;
    return filter;
}

float limit_of(const FilterSpec& filter) {
    std::array<float, kMaxBurst> each{};
    return confidence_of(filter)->limits(pipeline::Burst{}, each).at(0);
}

TEST(Rules, match_has_no_judge) {
    EXPECT_FALSE(confidence_of(filter_of(Rule::kMatch)));
    EXPECT_FALSE(confidence_of(echo_spec()));
    EXPECT_EQ(rule_text(filter_of(Rule::kMatch)), "match: every match is an echo");
}

// Rounded to float, the bound may become lower, but never higher.
TEST(Rules, bound_is_the_largest_float_within_max_false_drop) {
    for (const double most : {1e-9, 1e-6, 1e-3, 0.1, 0.3, 0.5}) {
        FilterSpec filter = filter_of(Rule::kBound);
        filter.max_false_drop = most;
        EXPECT_LE(limit_of(filter), most);
        EXPECT_GT(std::nextafter(limit_of(filter), 1.0F), most);
    }
    EXPECT_EQ(rule_text(filter_of(Rule::kBound)),
              "bound: a match is an echo if the chance of an accident is at most 1e-06, else "
              "forwarded");
}

TEST(Rules, penalty_weighs_the_filter_s_costs) {
    FilterSpec filter = filter_of(Rule::kPenalty);
    EXPECT_FLOAT_EQ(limit_of(filter), 1e-3F);  // at even odds
    filter.leak_cost = 2;
    filter.false_drop_cost = 5;
    EXPECT_FLOAT_EQ(limit_of(filter), 0.4F);
}

TEST(Rules, penalty_names_every_class) {
    FilterSpec filter = filter_of(Rule::kPenalty);
    filter.leak_cost = 2;
    filter.classes = {{{46, 34}, 1e6, std::nullopt}, {{0}, std::nullopt, 500.0}};
    EXPECT_EQ(
        rule_text(filter),
        "penalty: a match is an echo if dropping it costs no more; a false drop costs as much "
        "as 500 leaked echoes; DSCP 46, 34: 5e+05; DSCP 0: 2");
}

TEST(Rules, of_the_plan_are_those_of_the_filter) {
    EXPECT_FALSE(planned(echo_spec()).confidence);
    const FilterPlan plan = planned(filter_of(Rule::kBound));
    EXPECT_TRUE(plan.confidence);
    EXPECT_EQ(plan.rule, Rule::kBound);
    EXPECT_EQ(plan.rule_text.find("bound: a match is an echo if the chance"), 0U);
}

// The chance of a line follows its own load. The mean is far enough below the bound that few lines
// exceed it.
TEST(Rules, bound_is_rarely_met_by_lines_at_the_planned_rate) {
    FilterSpec spec = filter_of(Rule::kBound);
    spec.engine = Engine::kLine;
    spec.max_false_drop = 1e-4;
    const FilterPlan plan = planned(spec);
    EXPECT_DOUBLE_EQ(info_of(Engine::kLine).chance_margin, 10);
    EXPECT_LE(plan.prediction.false_drop, 1e-5);
    const Made instance(plan);
    const pipeline::FilterContext context = instance->context(plan);
    const filter::ChanceLimits most(1e-4F);
    Digest next = 0;
    double sum = 0;
    unsigned above = 0;
    constexpr unsigned kSamples = 20'000;
    for (std::uint64_t tick = 0; tick < 60; ++tick) {
        for (std::uint64_t key = 0; key < plan.prediction.generation_keys; ++key) {
            const Digest digest = remix(++next, 1);
            context.ops->test(context.filter, *context.ageing, {&digest, 1},
                              {tick * plan.clock.length, tick}, 1, &most);
        }
    }
    for (Digest digest = 0; digest < kSamples; ++digest) {
        const float chance = context.ops->chance(context.filter, remix(digest, 7));
        sum += chance;
        above += chance > 1e-4F ? 1 : 0;
    }
    EXPECT_NEAR(sum / kSamples / plan.prediction.false_drop, 1, 0.2);
    EXPECT_LE(above, kSamples / 50);
}

// The engine table's flag agrees with what the engines can do.
TEST(Rules, that_judge_are_allowed_for_the_engines_that_can) {
    for (const Engine engine : test::every_engine()) {
        FilterSpec spec = echo_spec();
        spec.engine = engine;
        spec.rate = 1e4;
        spec.first = info_of(engine).counts_packets ? 3 : 1;
        const FilterPlan plan = planned(spec);
        const Made instance(plan);
        EXPECT_EQ(instance->context(plan).ops->chance != nullptr, info_of(engine).estimates_chance)
            << info_of(engine).name;
    }
}

}  // namespace
}  // namespace unecho::engines
