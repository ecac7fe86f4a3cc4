// SPDX-License-Identifier: BSD-3-Clause
#include "dedup/engines/planning/plan.h"

#include <gtest/gtest.h>

#include "unit/engines/planned.h"

namespace unecho::engines {
namespace {

// The engine that "auto" chooses fits into each instance's part of the memory.
TEST(PlanFilter, instances_share_the_memory) {
    constexpr unsigned kInstances = 4;
    const Placement placement{.instances = kInstances};
    FilterSpec spec = echo_spec();
    const FilterPlan first = planned(spec, placement);
    spec.memory = kInstances * first.instance_bytes;
    EXPECT_EQ(engine_of(planned(spec, placement).geometry), engine_of(first.geometry));
    spec.memory = *spec.memory - 1;
    const FilterPlan smaller = planned(spec, placement);
    EXPECT_NE(engine_of(smaller.geometry), engine_of(first.geometry));
    EXPECT_LE(kInstances * smaller.instance_bytes, *spec.memory);
}

// The allowed memory includes the table for packets without an ID, beside the filter.
TEST(PlanFilter, packets_without_an_id_have_their_part_of_the_memory) {
    FilterSpec spec = echo_spec();
    const FilterPlan dropping = planned(spec);
    EXPECT_FALSE(dropping.repeats);
    spec.repeats = packet::Repeats::kKeep;
    const FilterPlan keeping = planned(spec);
    ASSERT_TRUE(keeping.repeats);
    EXPECT_EQ(keeping.engine_bytes, filter::align_to_line(dropping.instance_bytes));
    EXPECT_EQ(keeping.instance_bytes,
              keeping.engine_bytes + filter::UnionRule::bytes(*keeping.repeats));
    const double packets = *spec.rate * static_cast<double>(spec.window) / kSecond;
    EXPECT_GE(static_cast<double>(keeping.repeats->spec().looks), 1.9 * packets);
    spec.unidentified = 0.1;
    EXPECT_LT(planned(spec).instance_bytes, keeping.instance_bytes);
    spec.unidentified = std::nullopt;
    spec.memory = keeping.instance_bytes;
    EXPECT_EQ(engine_of(planned(spec).geometry), engine_of(keeping.geometry));
    spec.memory = std::nullopt;
    spec.window = 3600 * kSecond;
    spec.rate = 1e9;
    spec.engine = Engine::kLine;
    const auto refused = plan_filter(spec, {});
    ASSERT_FALSE(refused);
}

// The bound is hardly above the chance that two of 50,000 digests are equal. A filter of bits would
// need more memory than the digests themselves.
TEST(PlanFilter, where_auto_takes_an_engine_that_cannot_judge_the_rule_is_match) {
    for (const Rule rule : {Rule::kBound, Rule::kPenalty}) {
        FilterSpec spec = echo_spec();
        spec.rule = rule;
        const FilterPlan judging = planned(spec);
        EXPECT_TRUE(judging.engine().estimates_chance);
        EXPECT_EQ(judging.rule, rule);
        EXPECT_TRUE(judging.confidence);
        spec.max_false_drop = 2.72e-15;
        const FilterPlan exact = planned(spec);
        ASSERT_EQ(engine_of(exact.geometry), Engine::kExact);
        EXPECT_EQ(exact.rule, Rule::kMatch);
        EXPECT_FALSE(exact.confidence);
        EXPECT_EQ(exact.rule_text, "match: every match is an echo");
    }
}

// Equal flows of two tenants are different flows, while a packet is identified by its bytes.
TEST(KeyOf, tenant_is_what_is_asked_for_and_else_goes_by_the_mode) {
    using packet::KeyMode;
    using packet::Tenant;
    FilterSpec spec = echo_spec();
    for (const auto& [mode, by_mode] :
         {std::pair{KeyMode::kPacket, Tenant::kIgnore}, std::pair{KeyMode::kFlow, Tenant::kMatch},
          std::pair{KeyMode::kFlowBidir, Tenant::kMatch}}) {
        spec.key = mode;
        spec.tenant.reset();
        EXPECT_EQ(key_of(spec).tenant, by_mode);
        EXPECT_EQ(key_of(spec).flow_tenant, Tenant::kMatch);  // for the report of two taps
        for (const Tenant asked : {Tenant::kIgnore, Tenant::kMatch}) {
            spec.tenant = asked;
            EXPECT_EQ(key_of(spec).tenant, asked);
            EXPECT_EQ(key_of(spec).flow_tenant, asked);
        }
    }
}

TEST(KeyOf, ports_of_vxlan_lead_to_it_where_it_is_listed) {
    constexpr std::uint16_t kPort = 9999;
    FilterSpec spec = echo_spec();
    spec.tunnels.add(packet::Encapsulation::kVxlan);
    EXPECT_EQ(key_of(spec).tunnels.decapsulator_for_ports(1, kPort), packet::Tunnels::kNothing);
    spec.vxlan_ports = {kPort};
    EXPECT_EQ(key_of(spec).tunnels.decapsulator_for_ports(1, kPort),
              key_of(spec).tunnels.decapsulator_for_ports(1, 4789));
    spec.tunnels = {};
    EXPECT_FALSE(key_of(spec).tunnels.any());
}

TEST(KeyOf, bytes_are_all_unless_some_are_asked_for) {
    FilterSpec spec = echo_spec();
    EXPECT_EQ(key_of(spec).bytes, 0U);
    spec.key_bytes = 128;
    EXPECT_EQ(key_of(spec).bytes, 128U);
}

}  // namespace
}  // namespace unecho::engines
