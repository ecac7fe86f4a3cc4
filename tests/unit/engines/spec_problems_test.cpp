// SPDX-License-Identifier: BSD-3-Clause
// Settings of a filter that contradict each other, field by field.
#include "dedup/engines/planning/spec_problems.h"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace unecho::engines {
namespace {

// Return "first field: problem" of each, joined by " | ".
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
    for (unsigned first = 1; first <= kMaxFirst; ++first) {
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

FilterSpec of_tunnels(packet::EncapsulationSet tunnels, packet::KeyMode key) {
    FilterSpec spec;
    spec.key = key;
    spec.tunnels = tunnels;
    spec.max_false_drop = kDefaultFalseDrop;
    return spec;
}

packet::EncapsulationSet only(packet::Encapsulation one) {
    packet::EncapsulationSet set;
    set.add(one);
    return set;
}

TEST(SpecProblems, tunnels_are_for_keys_of_packets_and_flows) {
    for (unsigned i = 0; i < packet::kKeyModes; ++i) {
        const auto key = static_cast<packet::KeyMode>(i);
        const std::string problem =
            "tunnels: key \"frame\" compares every frame by all of its bytes, those of its tunnels "
            "too; leave it out";
        const bool fits = key != packet::KeyMode::kFrame;
        for (const packet::EncapsulationInfo& info : packet::kEncapsulations) {
            EXPECT_EQ(told(of_tunnels(only(info.encapsulation), key)), fits ? "" : problem);
        }
        EXPECT_EQ(told(of_tunnels({}, key)), "");
        EXPECT_EQ(told(of_tunnels({}, key), {"tunnels"}), fits ? "" : problem);
    }
}

TEST(SpecProblems, ports_of_vxlan_are_for_vxlan_and_of_no_other) {
    const auto with = [](packet::EncapsulationSet tunnels, std::vector<std::uint16_t> ports) {
        FilterSpec spec = of_tunnels(tunnels, packet::KeyMode::kPacket);
        spec.vxlan_ports = std::move(ports);
        return told(spec, {"tunnels", "vxlan_ports"});
    };
    const auto all = packet::EncapsulationSet::all();
    EXPECT_EQ(with(all, {1, 4799, 65535}), "");
    EXPECT_EQ(with(only(packet::Encapsulation::kVxlan), {4799}), "");
    const std::string needs =
        "vxlan_ports: say where else VXLAN is looked for; they need \"vxlan\" among tunnels, or "
        "tunnels \"all\"";
    EXPECT_EQ(with({}, {4799}), needs);
    EXPECT_EQ(with(only(packet::Encapsulation::kVxlanGpe), {4799}), needs);
    for (const std::uint16_t port : {4789, 8472, 4790, 6081, 4754, 2152, 6635, 1701, 3544}) {
        EXPECT_EQ(with(all, {4799, port}),
                  "vxlan_ports: " + std::to_string(port) +
                      " is a port of the encapsulations already; leave it out");
    }
}

TEST(SpecProblems, a_tenant_is_that_of_a_tunnel) {
    for (const auto tenant : {packet::Tenant::kIgnore, packet::Tenant::kMatch}) {
        FilterSpec spec = of_tunnels({}, packet::KeyMode::kFlow);
        spec.tenant = tenant;
        EXPECT_EQ(told(spec, {"tenant"}),
                  "tenant: says whether the identifier of a tunnel counts; it needs tunnels");
        spec.tunnels = only(packet::Encapsulation::kErspan);  // has no identifier, but is a tunnel
        EXPECT_EQ(told(spec, {"tenant"}), "");
    }
}

TEST(SpecProblems, bytes_of_a_key_are_those_of_packets) {
    FilterSpec spec;
    for (const std::uint32_t bytes : {20U, 128U, 9000U}) {
        spec.key_bytes = bytes;
        EXPECT_EQ(told(spec, {"key_bytes"}), "");
    }
    for (const std::uint32_t bytes : {0U, 7U, 19U, 9001U}) {
        spec.key_bytes = bytes;
        EXPECT_EQ(told(spec, {"key_bytes"}),
                  "key_bytes: " + std::to_string(bytes) + "; allowed: 20 to 9000");
    }
    spec.key_bytes = 128;
    const std::string needs =
        "key_bytes: is how much of a packet counts; it needs key \"packet\": ";
    for (const auto key : {packet::KeyMode::kFlow, packet::KeyMode::kFlowBidir}) {
        spec.key = key;
        EXPECT_EQ(told(spec), needs + "a flow is no more than addresses and ports");
    }
    spec.key = packet::KeyMode::kFrame;
    EXPECT_EQ(told(spec), needs + "a frame counts whole");
}

// Defaults never cause a new problem.
TEST(SpecProblems, what_is_left_open_is_settled_as_the_engine_can) {
    for (const EngineInfo& info : kEngineTable) {
        FilterSpec spec = of_flows(info.engine, 2);
        fill_defaults(spec);
        EXPECT_EQ(spec.rule, info.estimates_chance ? Rule::kBound : Rule::kMatch) << info.name;
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
            EXPECT_EQ(told(spec) == "", rule == Rule::kMatch || info.estimates_chance) << info.name;
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
