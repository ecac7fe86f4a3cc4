// SPDX-License-Identifier: BSD-3-Clause
#include "captures/compare/looks/flow.h"

#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "captures/compare/looks/content.h"
#include "captures/compare/looks/hosts.h"
#include "support/packet_builder.h"

namespace unecho::compare {
namespace {

using test::Bytes;
using test::PacketSpec;

packet::Parsed parsed(const Bytes& frame) {
    return packet::parse_frame(packet::LinkType::kEthernet,
                               {frame.data(), static_cast<std::uint32_t>(frame.size())});
}

std::string flow_text(const PacketSpec& spec) {
    const Bytes frame = test::build(spec);
    return text_of(flow_of(parsed(frame)));
}

TEST(Flow, has_a_text) {
    EXPECT_EQ(flow_text({}), "10.0.0.1:1000 > 10.0.0.2:2000 UDP");
    EXPECT_EQ(flow_text({.version = 6, .protocol = 6}),
              "[2001:db8::a00:1]:1000 > [2001:db8::a00:2]:2000 TCP");
    EXPECT_EQ(flow_text({.protocol = 1}), "10.0.0.1 > 10.0.0.2 ICMP");
    EXPECT_EQ(flow_text({.protocol = 200}), "10.0.0.1 > 10.0.0.2 protocol 200");
    const Bytes frame = test::build({});
    EXPECT_EQ(text_of(flow_of_stations({frame.data(), 12})),
              "02:00:00:00:00:01 > 02:00:00:00:00:02");
    EXPECT_EQ(text_of(Address{}), "?");
}

TEST(FlowTable, numbers_flows_in_the_order_they_come) {
    FlowTable table;
    for (std::uint32_t i = 0; i < 10'000; ++i) {
        const Digest digest = remix(i % 5000, 1);
        EXPECT_EQ(table.number_of(digest, [] { return Flow{}; }), i % 5000);
    }
    EXPECT_EQ(table.flows().size(), 5000U);
}

TEST(Hosts, both_directions_are_one_pair) {
    PacketSpec spec;
    const Bytes there = test::build(spec);
    std::swap(spec.source, spec.destination);
    const Bytes back = test::build(spec);
    const std::vector<Flow> flows{flow_of(parsed(there)), flow_of(parsed(back))};
    const Hosts hosts(flows);
    EXPECT_EQ(hosts.hosts(), 2U);
    EXPECT_EQ(hosts.pairs(), 1U);
    EXPECT_EQ(hosts.of(0).pair, hosts.of(1).pair);
    EXPECT_NE(hosts.of(0).turned, hosts.of(1).turned);
    EXPECT_EQ(hosts.of(FlowTable::kNone).pair, Hosts::kNone);
}

// Packets to a group pass a point from both sides, so a group has none.
TEST(Hosts, groups_are_none) {
    using Family = Address::Family;
    const Address host{Family::kIpv4, {10, 0, 0, 1}};
    for (const auto& [address, is_host] :
         {std::pair{Address{Family::kIpv4, {223, 255, 255, 255}}, true},
          std::pair{Address{Family::kIpv4, {224, 0, 0, 1}}, false},
          std::pair{Address{Family::kIpv4, {255, 255, 255, 255}}, false},
          std::pair{Address{Family::kIpv4, {}}, false},
          std::pair{Address{Family::kIpv6, {0xFE, 0x80}}, true},
          std::pair{Address{Family::kIpv6, {0xFF, 2}}, false},
          std::pair{Address{Family::kIpv6, {}}, false},
          std::pair{Address{Family::kMac, {2, 0, 0, 0, 0, 1}}, true},
          std::pair{Address{Family::kMac, {1, 0, 0x5E}}, false}}) {
        const std::vector<Flow> flows{{.source = host, .destination = address},
                                      {.source = address, .destination = host}};
        const Hosts hosts(flows);
        EXPECT_EQ(hosts.of(0).destination == Hosts::kNone, !is_host) << text_of(address);
        EXPECT_EQ(hosts.of(1).source == Hosts::kNone, !is_host) << text_of(address);
        EXPECT_NE(hosts.of(0).source, Hosts::kNone);
    }
}

class Content : public testing::Test {
  protected:
    [[nodiscard]] Digest of(const PacketSpec& spec) const {
        const Bytes frame = test::build(spec);
        return content_digest(parsed(frame), secret_);
    }
    hash::Secret secret_ = hash::secret_from_seed(5);
};

TEST_F(Content, leaves_out_what_a_nat_changes) {
    for (const std::uint8_t protocol : {6, 17, 1}) {
        const PacketSpec spec{.id = 77, .protocol = protocol, .payload = {1, 2, 3}};
        PacketSpec translated = spec;
        translated.source = 0xC6336401;
        translated.ttl = 60;
        if (protocol == 1) {
            EXPECT_NE(of(spec), 0U);
        } else {
            translated.source_port = 40'000;
        }
        EXPECT_EQ(of(translated), of(spec)) << int{protocol};
        PacketSpec other = spec;
        other.payload = {1, 2, 4};
        EXPECT_NE(of(other), of(spec)) << int{protocol};
        other = spec;
        other.id = 78;
        EXPECT_NE(of(other), of(spec)) << int{protocol};
    }
}

TEST_F(Content, is_absent_where_nothing_distinguishes_packets) {
    EXPECT_EQ(of({.id = 0, .protocol = 6}), 0U);
    EXPECT_NE(of({.id = 7, .protocol = 6}), 0U);
    EXPECT_NE(of({.version = 6, .payload = {1}}), 0U);
    EXPECT_EQ(of({.version = 6}), 0U);
    EXPECT_EQ(of({.more_fragments = true, .payload = Bytes(16, 1)}), 0U);
    EXPECT_EQ(of({.protocol = 50, .payload = Bytes(16, 1)}), 0U);
}

}  // namespace
}  // namespace unecho::compare
