// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/plan/flow_sharding.h"

#include <gtest/gtest.h>

#include "plans.h"

namespace unecho::appliance {
namespace {

std::string warnings_of(const config::Config& config, Spread spread) {
    std::string out;
    for (const std::string& warning : spread_warnings(config, spread)) {
        EXPECT_EQ(warning.rfind("filter \"echo\": ", 0), 0U) << warning;
        out += warning + "\n";
    }
    return out;
}

bool has(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
}

TEST(Fabric, of_equal_packets_needs_any_hash_that_copies_have_in_common) {
    const config::Config config = taps_to_tool();
    for (const Spread well :
         {Spread::kSymmetricFlow, Spread::kSymmetricAddresses, Spread::kFlow, Spread::kInner}) {
        EXPECT_EQ(warnings_of(config, well), "");
    }
    EXPECT_TRUE(has(warnings_of(config, Spread::kMac), "where a router"));
    EXPECT_TRUE(has(warnings_of(config, Spread::kMpls), "other labels"));
    EXPECT_TRUE(has(warnings_of(config, Spread::kOther), "misses: copies are anywhere"));
}

TEST(Fabric, of_equal_frames_may_hash_their_mac_addresses) {
    config::Config config = taps_to_tool();
    config.filters[0].key = packet::KeyMode::kFrame;
    EXPECT_EQ(warnings_of(config, Spread::kMac), "");
    EXPECT_TRUE(has(warnings_of(config, Spread::kOther), "misses"));
}

TEST(Fabric, of_flows_both_ways_needs_a_symmetric_hash) {
    config::Config config = taps_to_tool();
    config.filters[0].key = packet::KeyMode::kFlowBidir;
    EXPECT_EQ(warnings_of(config, Spread::kSymmetricAddresses), "");
    EXPECT_TRUE(has(warnings_of(config, Spread::kFlow), "both directions are one flow"));
    EXPECT_TRUE(has(warnings_of(config, Spread::kMpls), "labels are of one direction"));
    config.filters[0].key = packet::KeyMode::kFlow;
    EXPECT_EQ(warnings_of(config, Spread::kFlow), "");
    config.filters[0].first = 5;
    EXPECT_TRUE(has(warnings_of(config, Spread::kFlow), "fragments"));
    EXPECT_EQ(warnings_of(config, Spread::kSymmetricAddresses), "");
}

TEST(Fabric, of_tunnels_needs_a_hash_of_the_innermost_packet) {
    config::Config config = taps_to_tool();
    config.filters[0].tunnels.add(packet::Encapsulation::kVxlan);
    EXPECT_TRUE(has(warnings_of(config, Spread::kSymmetricFlow), "its copy in a tunnel part"));
    EXPECT_EQ(warnings_of(config, Spread::kInner), "");
}

TEST(Fabric, with_frames_without_ip_is_told_to_look_at_them) {
    config::Config config = taps_to_tool();
    config.filters[0].non_ip = packet::NonIp::kFrame;
    EXPECT_TRUE(has(warnings_of(config, Spread::kSymmetricFlow), "MAC addresses"));
}

}  // namespace
}  // namespace unecho::appliance
