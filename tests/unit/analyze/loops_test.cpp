// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/classify/loops.h"

#include <gtest/gtest.h>

#include "captures/analyze/recommend/choose_view.h"
#include "captures/analyze/recommend/recommend.h"
#include "stream.h"

namespace unecho::analyze {
namespace {

using test::PacketSpec;

PacketSpec packet_number(unsigned number, unsigned ttl) {
    PacketSpec spec;
    spec.id = static_cast<std::uint16_t>(number + 2);
    spec.ttl = static_cast<std::uint8_t>(ttl);
    spec.payload = test::counting(30);
    return spec;
}

PacketSpec other_way(PacketSpec spec) {
    std::swap(spec.source_mac, spec.destination_mac);
    return spec;
}

std::uint64_t with_cause(const Report& report, Cause cause) {
    return report.causes[static_cast<std::size_t>(cause)].echoes.packets;
}

TEST(Loops, packet_that_comes_round_with_a_lower_ttl_is_in_one) {
    Stream stream;
    for (unsigned round = 0; round < 20; ++round) {
        stream.add(round * 300 * kMicrosecond, packet_number(1, 64 - 3 * round));
    }
    const Report report = stream.report();
    EXPECT_EQ(with_cause(report, Cause::kLoop), 18U);  // from the third round on
    EXPECT_EQ(with_cause(report, Cause::kHopLimit), 1U);
    EXPECT_EQ(report.copied.packets, 19U);
    ASSERT_EQ(report.loops.size(), 1U);
    EXPECT_EQ(report.loops[0].one, "02:00:00:00:00:01");
    EXPECT_EQ(report.loops[0].other, "02:00:00:00:00:02");
    EXPECT_EQ(report.loops[0].packets, 1U);
    EXPECT_EQ(report.loops[0].copies.packets, 18U);
    EXPECT_EQ(report.loops[0].step, 3U);
    EXPECT_EQ(report.loops[0].round, 300 * kMicrosecond);
}

// Two routers send a packet to each other: two pairs of MAC addresses, but one link.
TEST(Loops, both_ways_of_a_link_are_one) {
    Stream stream;
    for (unsigned i = 0; i < 30; ++i) {
        const PacketSpec spec = packet_number(1, 64 - i);
        stream.add(i * kMillisecond, i % 2 == 0 ? spec : other_way(spec));
    }
    const Report report = stream.report();
    ASSERT_EQ(report.loops.size(), 1U);
    EXPECT_EQ(report.loops[0].step, 2U);
    EXPECT_EQ(report.loops[0].copies.packets, 26U);  // from the fifth: the third of its direction
    EXPECT_EQ(with_cause(report, Cause::kLoop), 26U);
}

TEST(Loops, taps_along_a_path_are_none) {
    Stream stream(6);
    for (unsigned packet = 0; packet < 10; ++packet) {
        for (unsigned hop = 0; hop < 6; ++hop) {
            PacketSpec spec = packet_number(packet, 64 - hop);
            spec.source_mac[5] = static_cast<std::uint8_t>(10 + hop);
            stream.add((packet * 10 + hop) * kMillisecond, spec, hop);
        }
    }
    const Report report = stream.report();
    EXPECT_TRUE(report.loops.empty());
    EXPECT_EQ(with_cause(report, Cause::kLoop), 0U);
    EXPECT_EQ(with_cause(report, Cause::kRouted), 50U);
}

// A router uses one MAC address on all its ports.
TEST(Loops, on_a_path_of_equal_addresses_are_none) {
    Stream stream(6);
    for (unsigned packet = 0; packet < 10; ++packet) {
        for (unsigned hop = 0; hop < 6; ++hop) {
            stream.add((packet * 10 + hop) * kMillisecond, packet_number(packet, 64 - hop), hop);
        }
    }
    const Report report = stream.report();
    EXPECT_TRUE(report.loops.empty());
    EXPECT_EQ(with_cause(report, Cause::kLoop), 0U);
}

// A mirror shows each round twice.
TEST(Loops, copies_of_a_round_are_no_rounds) {
    Stream stream;
    for (unsigned round = 0; round < 20; ++round) {
        for (unsigned copy = 0; copy < 2; ++copy) {
            stream.add((round * 300 + copy) * kMicrosecond, packet_number(1, 64 - 3 * round));
        }
    }
    const Report report = stream.report();
    ASSERT_EQ(report.loops.size(), 1U);
    EXPECT_EQ(report.loops[0].step, 3U);
    EXPECT_EQ(report.loops[0].round, 300 * kMicrosecond);
    EXPECT_GE(report.loops[0].copies.packets, 18U);
}

// One sender writes any TTL. The other waits ten times longer before each packet.
TEST(Loops, ttl_or_time_without_a_rhythm_is_none) {
    Stream stream;
    Nanoseconds now = 0;
    for (const unsigned ttl : {200U, 190U, 170U, 165U, 120U, 119U, 60U}) {
        stream.add(now += kMillisecond, packet_number(1, ttl));
    }
    Nanoseconds wait = kMillisecond;
    for (unsigned ttl = 64; ttl > 58; --ttl) {
        stream.add(now += wait, packet_number(2, ttl));
        wait *= 10;
    }
    const Report report = stream.report();
    EXPECT_TRUE(report.loops.empty());
    EXPECT_EQ(with_cause(report, Cause::kLoop), 0U);
}

TEST(Loops, recommendation_says_where) {
    Stream stream;
    for (unsigned packet = 0; packet < 10; ++packet) {
        for (unsigned round = 0; round < 60; ++round) {
            stream.add((packet * 100 + round) * kMillisecond, packet_number(packet, 120 - round));
        }
    }
    Collector collector(std::uint64_t{16} << 20, hash::secret_from_seed(1));
    collector.add(stream.records(), stream.interfaces());
    Views views = collector.views();
    auto [chosen, report] = choose_view(views);
    recommend(report, {chosen->accepted(), chosen->all()});
    EXPECT_EQ(report.recommendation.policy, engines::Policy::kRefresh);
    EXPECT_NE(report.recommendation.policy_reason.find(
                  "10 packets go round between 02:00:00:00:00:01 and 02:00:00:00:00:02"),
              std::string::npos)
        << report.recommendation.policy_reason;
    EXPECT_EQ(report.recommendation.removed.packets, 590U);
}

}  // namespace
}  // namespace unecho::analyze
