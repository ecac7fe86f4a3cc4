// SPDX-License-Identifier: BSD-3-Clause
// What of a filter that is asked for does not go together, field by field.
#include "engines/spec_problems.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace unecho::engines {
namespace {

// "first: ..." of each, joined by " | ".
std::string told(const FilterSpec& spec, const FieldNames& written = {}) {
    std::string text;
    for (const SpecProblem& problem : problems_of(spec, written)) {
        text +=
            (text.empty() ? "" : " | ") + std::string(problem.fields.front()) + ": " + problem.what;
        EXPECT_FALSE(problem.what.empty());
        EXPECT_EQ(problem.what.find("--"), std::string::npos) << "an option of a command";
    }
    return text;
}

FilterSpec of_flows(Engine engine, unsigned first) {
    FilterSpec spec;
    spec.key = packet::KeyMode::kFlow;
    spec.engine = engine;
    spec.first = first;
    spec.max_false_drop = kDefaultFalseDrop;
    return spec;
}

TEST(SpecProblems, there_are_none_of_what_nothing_is_asked) {
    EXPECT_EQ(told({}), "");
    FilterSpec spec;
    spec.max_false_drop = kDefaultFalseDrop;
    for (const EngineInfo& info : kEngineTable) {
        spec.engine = info.engine;
        EXPECT_EQ(told(spec) == "", !info.counts_packets) << info.name;
    }
}

TEST(SpecProblems, first_packets_are_those_of_flows) {
    FilterSpec spec;
    for (unsigned i = 0; i < packet::kKeyModes; ++i) {
        spec.key = static_cast<packet::KeyMode>(i);
        const std::string problem =
            "first: counts packets of a flow; it needs key \"flow\" or "
            "\"flow-bidir\"";
        spec.first = 2;
        EXPECT_EQ(told(spec), packet::is_flow(spec.key) ? "" : problem);
        spec.first = 1;
        EXPECT_EQ(told(spec), "");
        EXPECT_EQ(told(spec, {"first"}), packet::is_flow(spec.key) ? "" : problem);
    }
}

TEST(SpecProblems, numbers_have_their_ranges) {
    EXPECT_EQ(told(of_flows(Engine::kAuto, 0)), "first: 0; allowed: 1 to 64");
    EXPECT_EQ(told(of_flows(Engine::kAuto, 64)), "");
    EXPECT_EQ(told(of_flows(Engine::kAuto, 65)), "first: 65; allowed: 1 to 64");
    EXPECT_EQ(false_drops_allowed(), "above 0 up to 0.5, as in 1e-6");
    EXPECT_EQ(std::stod(std::string(kDefaultFalseDropText)), kDefaultFalseDrop);
    FilterSpec spec;
    for (const double value : {5e-324, 1e-12, 0.5}) {
        spec.max_false_drop = value;
        EXPECT_EQ(told(spec), "");
    }
    for (const double value : {0.0, -1.0, 0.51, 2.0, std::numeric_limits<double>::quiet_NaN()}) {
        spec.max_false_drop = value;
        EXPECT_NE(told(spec).find("max_false_drop: "), std::string::npos) << value;
        EXPECT_NE(told(spec).find("; allowed: " + false_drops_allowed()), std::string::npos);
    }
}

TEST(SpecProblems, an_engine_that_counts_takes_flows_and_so_many_of_their_packets) {
    const EngineInfo& info = info_of(Engine::kShbfX);
    for (unsigned first = 1; first <= kMostFirst; ++first) {
        const bool fits = info.least_first <= first && first <= info.most_first;
        const std::string what =
            ": engine \"shbf-x\" counts packets of a flow; allowed: first from 2 to 57";
        EXPECT_EQ(told(of_flows(Engine::kShbfX, first)), fits ? "" : "engine" + what);
        EXPECT_EQ(told(of_flows(Engine::kShbfX, first), {"first"}), fits ? "" : "first" + what);
        EXPECT_EQ(told(of_flows(Engine::kLine, first)), "");
    }
    FilterSpec spec = of_flows(Engine::kShbfX, 1);
    spec.key = packet::KeyMode::kPacket;
    EXPECT_EQ(told(spec),
              "engine: \"shbf-x\" counts packets of a flow; it needs key \"flow\" or "
              "\"flow-bidir\"");
}

TEST(SpecProblems, frames_without_ip_go_with_other_keys_and_one_by_one) {
    FilterSpec spec;
    spec.key = packet::KeyMode::kFrame;
    EXPECT_EQ(told(spec), "");
    const std::string whole =
        "non_ip: key \"frame\" compares every frame by all of its bytes; leave it out";
    EXPECT_EQ(told(spec, {"non_ip"}), whole);
    spec.non_ip = packet::NonIp::kFrame;
    EXPECT_EQ(told(spec), whole);
    spec.key = packet::KeyMode::kFlow;
    EXPECT_EQ(told(spec, {"non_ip"}), "");
    spec.first = 3;
    EXPECT_EQ(told(spec, {"non_ip"}),
              "non_ip: compares frames one by one, and first lets 3 of each pass; allowed: "
              "\"pass\", or first 1");
    spec.non_ip = packet::NonIp::kPass;
    EXPECT_EQ(told(spec, {"non_ip"}), "");
}

// What is settled is never a problem that was not there before.
TEST(SpecProblems, what_is_left_open_is_settled_as_the_engine_can) {
    for (const EngineInfo& info : kEngineTable) {
        FilterSpec spec = of_flows(info.engine, 2);
        fill_defaults(spec);
        EXPECT_EQ(spec.rule, info.judges ? Rule::kBound : Rule::kMatch) << info.name;
        EXPECT_EQ(spec.on_full,
                  info.on_full.count == 0 ? std::nullopt : std::optional(info.on_full.list[0]));
        EXPECT_EQ(told(spec), "") << info.name;
        FilterSpec unbounded = of_flows(info.engine, 2);
        unbounded.max_false_drop.reset();
        fill_defaults(unbounded);
        EXPECT_EQ(unbounded.rule, Rule::kMatch);
        EXPECT_FALSE(unbounded.on_full);
    }
}

TEST(SpecProblems, rules_and_what_gives_way_are_those_of_the_engine) {
    for (const EngineInfo& info : kEngineTable) {
        for (const Rule rule : {Rule::kMatch, Rule::kBound, Rule::kPenalty}) {
            FilterSpec spec = of_flows(info.engine, 2);
            spec.rule = rule;
            EXPECT_EQ(told(spec) == "", rule == Rule::kMatch || info.judges) << info.name;
        }
        for (const OnFull on_full : {OnFull::kShrink, OnFull::kDoubt, OnFull::kGrow}) {
            FilterSpec spec = of_flows(info.engine, 2);
            spec.on_full = on_full;
            EXPECT_EQ(told(spec) == "", info.on_full.contains(on_full)) << info.name;
            spec.rule = Rule::kMatch;
            EXPECT_EQ(told(spec) == "",
                      info.on_full.contains(on_full) && on_full != OnFull::kDoubt);
        }
    }
    FilterSpec spec = of_flows(Engine::kLine, 1);
    EXPECT_EQ(told(spec, {"leak_cost"}),
              "leak_cost: is weighed by rule \"penalty\" alone; leave it out, or use that");
    spec.rule = Rule::kPenalty;
    EXPECT_EQ(told(spec, {"leak_cost", "false_drop_cost", "class"}), "");
}

}  // namespace
}  // namespace unecho::engines
