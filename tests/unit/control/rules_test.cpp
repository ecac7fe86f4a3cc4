// SPDX-License-Identifier: BSD-3-Clause
#include "control/rules.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "control/filter_instance.h"
#include "unit/control/plans.h"

namespace unecho::control {
namespace {

using config::Rule;

config::Filter filter_of(Rule rule) {
    config::Filter filter = taps_to_tool().filters[0];
    filter.rule = rule;
    return filter;
}

float limit_of(const config::Filter& filter) {
    std::array<float, kMaxBurst> each{};
    return judge_of(filter)->limits(dataplane::Burst{}, each).at(0);
}

TEST(Rules, match_has_no_judge) {
    EXPECT_FALSE(judge_of(filter_of(Rule::kMatch)));
    EXPECT_FALSE(judge_of(taps_to_tool().filters[0]));
    EXPECT_EQ(rule_text(filter_of(Rule::kMatch)), "match: every match is an echo");
}

// As a float it may be less than asked for, never more.
TEST(Rules, bound_is_the_largest_float_within_max_false_drop) {
    for (const double most : {1e-9, 1e-6, 1e-3, 0.1, 0.3, 0.5}) {
        config::Filter filter = filter_of(Rule::kBound);
        filter.max_false_drop = most;
        EXPECT_LE(limit_of(filter), most);
        EXPECT_GT(std::nextafter(limit_of(filter), 1.0F), most);
    }
    EXPECT_EQ(rule_text(filter_of(Rule::kBound)),
              "bound: a match is an echo if the chance of an accident is at most 1e-06, else "
              "forwarded");
}

TEST(Rules, penalty_weighs_the_filter_s_costs) {
    config::Filter filter = filter_of(Rule::kPenalty);
    EXPECT_FLOAT_EQ(limit_of(filter), 1e-3F);  // at even odds
    filter.leak_cost = 2;
    filter.false_drop_cost = 5;
    EXPECT_FLOAT_EQ(limit_of(filter), 0.4F);
}

TEST(Rules, penalty_names_every_class) {
    config::Filter filter = filter_of(Rule::kPenalty);
    filter.leak_cost = 2;
    filter.classes = {{{46, 34}, 1e6, std::nullopt}, {{0}, std::nullopt, 500.0}};
    EXPECT_EQ(
        rule_text(filter),
        "penalty: a match is an echo if dropping it costs no more; a false drop costs as much "
        "as 500 leaked echoes; DSCP 46, 34: 5e+05; DSCP 0: 2");
}

TEST(Rules, of_the_plan_are_those_of_the_filter) {
    config::Config config = taps_to_tool();
    const auto planned = [&] {
        return plan_of(config, machine_with({0}), all_of(config, device("net_null")));
    };
    EXPECT_FALSE(planned().filters[0].judge);
    config.filters[0].rule = Rule::kBound;
    const Plan plan = planned();
    EXPECT_TRUE(plan.filters[0].judge);
    EXPECT_EQ(plan.filters[0].rule, Rule::kBound);
    EXPECT_NE(to_text(plan).find("bound: a match is an echo if the chance"), std::string::npos);
}

// Just before a shift, after as many new keys as planned, the chance is near the bound, below it.
TEST(Rules, bound_is_met_at_the_planned_rate) {
    for (const auto engine :
         {config::Engine::kApbbf, config::Engine::kApbf, config::Engine::kShbf}) {
        config::Config config = taps_to_tool();
        config.filters[0].engine = engine;
        config.filters[0].rule = Rule::kBound;
        config.filters[0].max_false_drop = 1e-4;
        const FilterPlan plan =
            plan_of(config, machine_with({0}), all_of(config, device("net_null"))).filters.at(0);
        auto instance = FilterInstance::make(plan, 0, false);
        ASSERT_TRUE(instance);
        const pipeline::Lane lane = (*instance)->lane(plan);
        const filter::ChanceLimits most(1e-4F);
        Digest next = 0;
        float greatest = 0;
        for (std::uint64_t generation = 0; generation < 60; ++generation) {
            for (std::uint64_t key = 0; key < plan.prediction.generation_keys; ++key) {
                const Digest digest = remix(++next, 1);
                lane.ops->test(lane.filter, *lane.ageing, {&digest, 1},
                               {generation * plan.clock.length, generation}, 1, &most);
            }
            greatest = std::max(greatest, lane.ops->chance(lane.filter, next));
        }
        EXPECT_LE(greatest, 1e-4F) << plan.engine();
        EXPECT_GE(greatest, 0.7e-4F) << plan.engine();
    }
}

// The chance of a line is that of its own load: its mean is far enough below the bound that few
// lines are above.
TEST(Rules, bound_is_rarely_met_by_lines_at_the_planned_rate) {
    config::Config config = taps_to_tool();
    config.filters[0].engine = config::Engine::kLine;
    config.filters[0].rule = Rule::kBound;
    config.filters[0].max_false_drop = 1e-4;
    const FilterPlan plan =
        plan_of(config, machine_with({0}), all_of(config, device("net_null"))).filters.at(0);
    EXPECT_DOUBLE_EQ(judge_margin(config::Engine::kLine), 10);
    EXPECT_LE(plan.prediction.false_drop, 1e-5);
    auto instance = FilterInstance::make(plan, 0, false);
    ASSERT_TRUE(instance);
    const pipeline::Lane lane = (*instance)->lane(plan);
    const filter::ChanceLimits most(1e-4F);
    Digest next = 0;
    double sum = 0;
    unsigned above = 0;
    constexpr unsigned kSamples = 20'000;
    for (std::uint64_t tick = 0; tick < 60; ++tick) {
        for (std::uint64_t key = 0; key < plan.prediction.generation_keys; ++key) {
            const Digest digest = remix(++next, 1);
            lane.ops->test(lane.filter, *lane.ageing, {&digest, 1},
                           {tick * plan.clock.length, tick}, 1, &most);
        }
    }
    for (Digest digest = 0; digest < kSamples; ++digest) {
        const float chance = lane.ops->chance(lane.filter, remix(digest, 7));
        sum += chance;
        above += chance > 1e-4F ? 1 : 0;
    }
    EXPECT_NEAR(sum / kSamples / plan.prediction.false_drop, 1, 0.2);
    EXPECT_LE(above, kSamples / 50);
}

// What the configuration allows is what the engines can.
TEST(Rules, that_judge_are_allowed_for_the_engines_that_can) {
    for (std::size_t i = 0; i < config::kEngineNames.size(); ++i) {
        const auto engine = static_cast<config::Engine>(i);
        config::Config config = taps_to_tool();
        config.filters[0].engine = engine;
        config.filters[0].rate = 1e4;
        if (engine == config::Engine::kShbfX) {
            config.filters[0].first = 3;
        }
        const FilterPlan plan =
            plan_of(config, machine_with({0}), all_of(config, device("net_null"))).filters.at(0);
        auto instance = FilterInstance::make(plan, 0, false);
        ASSERT_TRUE(instance);
        EXPECT_EQ((*instance)->lane(plan).ops->chance != nullptr, config::can_judge(engine))
            << config::kEngineNames.at(i);
    }
}

}  // namespace
}  // namespace unecho::control
