// SPDX-License-Identifier: BSD-3-Clause
// Doubts through a worker: each is forwarded and counted once, on every path of a packet.
#include <ostream>
#include <vector>

#include <gtest/gtest.h>

#include "packets.h"
#include "rig.h"
#include "support/bounds.h"
#include "support/window_oracle.h"

namespace unecho::test {
namespace {

using pipeline::CostRatios;
using Judging = EalTest;

constexpr float kNever = 1e-30F;
constexpr float kAlways = 1e30F;

// With a bound of 0 every match is a doubt.
Layout doubting() {
    Layout layout;
    layout.filters[0].geometry = sizing::ApbfGeometry{2, 3, 65536};
    layout.filters[0].confidence = pipeline::ConfidencePolicy::bound(0);
    return layout;
}

TEST_F(Judging, doubt_is_forwarded_and_counted_whatever_becomes_of_echoes) {
    for (const EchoAction action : {EchoAction::kDrop, EchoAction::kPass, EchoAction::kDivert}) {
        Layout layout = doubting();
        layout.ports.resize(4);
        layout.routes[0].on_echo = action;
        layout.routes[0].divert_to = 3;
        Rig rig(layout);
        rig.offer(0, packet(1));
        rig.offer(0, arp());
        rig.offer(1, copy_of(1));
        rig.settle();
        EXPECT_EQ(rig.sent(2), (std::vector<Bytes>{packet(1), arp(), copy_of(1)}));
        EXPECT_TRUE(rig.sent(3).empty());
        EXPECT_EQ(rig.count(Reason::kNew), 1U);
        EXPECT_EQ(rig.count(Reason::kDoubt), 1U);
        EXPECT_EQ(rig.total(Reason::kDoubt).bytes, copy_of(1).size());
        EXPECT_EQ(rig.count(Reason::kNonIp), 1U);
        EXPECT_EQ(rig.received(), 3U);
    }
}

// Masks of doubts and echoes refer to packets with keys, but must be applied to the whole burst.
TEST_F(Judging, doubts_between_packets_without_a_key_are_the_right_ones) {
    for (const float bound : {0.0F, 1.0F}) {
        Layout layout = doubting();
        layout.filters[0].confidence = pipeline::ConfidencePolicy::bound(bound);
        Rig rig(layout);
        for (const Bytes& frame : {arp(), arp(2), packet(1), malformed(), packet(1), arp(1),
                                   packet(2), packet(1), malformed(1)}) {
            rig.offer(0, frame);
        }
        rig.settle();
        const Reason matched = bound == 0 ? Reason::kDoubt : Reason::kEcho;
        EXPECT_EQ(rig.sent(2).size(), bound == 0 ? 9U : 7U);
        EXPECT_EQ(rig.count(matched), 2U);
        EXPECT_EQ(rig.total(matched).bytes, 2 * packet(1).size());
        EXPECT_EQ(rig.count(Reason::kNew), 2U);
    }
}

TEST_F(Judging, packets_with_times_of_their_own_are_judged_too) {
    for (const float bound : {0.0F, 1.0F}) {
        Layout layout = doubting();
        layout.capture = true;
        layout.filters[0].confidence = pipeline::ConfidencePolicy::bound(bound);
        Rig rig(layout);
        const std::uint64_t window = layout.filters[0].window / kMicrosecond;
        rig.offer_at(0, packet(1), 10);
        rig.offer_at(0, packet(1), 10);
        rig.offer_at(0, arp(), 11);
        rig.offer_at(0, packet(1), 12);
        rig.offer_at(0, packet(1), 12 + 4 * window);
        rig.settle();
        EXPECT_EQ(rig.count(Reason::kNew), 2U);
        EXPECT_EQ(rig.count(bound == 0 ? Reason::kDoubt : Reason::kEcho), 2U);
        EXPECT_EQ(rig.sent(2).size(), bound == 0 ? 5U : 3U);
    }
}

// The first two packets of a flow pass as new, without a match to evaluate.
TEST_F(Judging, of_the_first_packets_of_a_flow_only_the_last_match_is_judged) {
    Layout layout = doubting();
    layout.filters[0].key = packet::KeyMode::kFlow;
    layout.filters[0].first = 2;
    Rig rig(layout);
    for (unsigned number = 0; number < 5; ++number) {
        rig.offer(0, packet(1, number));
    }
    rig.settle();
    EXPECT_EQ(rig.count(Reason::kNew), 2U);
    EXPECT_EQ(rig.count(Reason::kDoubt), 3U);
    EXPECT_EQ(rig.sent(2).size(), 5U);
}

Bytes of_class(unsigned flow, unsigned dscp, unsigned version = 4) {
    PacketSpec spec = spec_of(flow, 0);
    spec.version = version;
    spec.tos = static_cast<std::uint8_t>(dscp << 2 | 1);  // with an ECN bit
    return build(spec);
}

// Packets of classes 46 and 63 are never dropped, duplicates of all others always.
Layout by_class() {
    Layout layout = doubting();
    CostRatios ratios;
    ratios.fill(kAlways);
    ratios[46] = kNever;
    ratios[63] = kNever;
    layout.filters[0].confidence = pipeline::ConfidencePolicy::penalty(ratios);
    return layout;
}

TEST_F(Judging, penalty_goes_by_the_class_of_the_copy) {
    Rig rig(by_class());
    for (unsigned dscp = 0; dscp < 64; ++dscp) {
        for (const unsigned version : {4U, 6U}) {
            rig.offer(0, of_class(dscp, 0, version));
            rig.offer(0, of_class(dscp, dscp, version));
        }
    }
    rig.settle();
    EXPECT_EQ(rig.count(Reason::kNew), 128U);
    EXPECT_EQ(rig.count(Reason::kDoubt), 4U);
    EXPECT_EQ(rig.count(Reason::kEcho), 124U);
    std::vector<Bytes> doubts;
    for (const Bytes& bytes : rig.sent(2)) {
        if (bytes == of_class(46, 46) || bytes == of_class(63, 63) ||
            bytes == of_class(46, 46, 6) || bytes == of_class(63, 63, 6)) {
            doubts.push_back(bytes);
        }
    }
    EXPECT_EQ(doubts.size(), 4U);
}

// Cost ratios follow the packets with keys, and chains have their class read like other packets.
TEST_F(Judging, penalty_finds_the_class_beside_other_frames_and_in_chains) {
    Rig rig(by_class());
    rig.offer(0, arp());
    rig.offer(0, of_class(1, 0));
    rig.offer(0, arp(1));
    rig.offer(0, malformed());
    rig.offer(0, make_mbuf(of_class(1, 46), {40}));
    rig.offer(0, of_class(1, 0));
    rig.offer(0, make_mbuf(of_class(1, 46), {34, 35}));
    rig.settle();
    EXPECT_EQ(rig.count(Reason::kNew), 1U);
    EXPECT_EQ(rig.count(Reason::kDoubt), 2U);
    EXPECT_EQ(rig.count(Reason::kEcho), 1U);
    EXPECT_EQ(rig.sent(2), (std::vector<Bytes>{arp(), of_class(1, 0), arp(1), malformed(),
                                               of_class(1, 46), of_class(1, 46)}));
}

TEST_F(Judging, penalty_goes_by_the_class_at_times_of_their_own) {
    Layout layout = by_class();
    layout.capture = true;
    Rig rig(layout);
    rig.offer_at(0, of_class(1, 0), 10);
    rig.offer_at(0, of_class(1, 46), 11);
    rig.offer_at(0, of_class(1, 0), 12);
    rig.offer_at(0, of_class(1, 46), 12);
    rig.settle();
    EXPECT_EQ(rig.count(Reason::kNew), 1U);
    EXPECT_EQ(rig.count(Reason::kDoubt), 2U);
    EXPECT_EQ(rig.count(Reason::kEcho), 1U);
    rig.sent(2);
}

// The last ratio is for frames without an IP header: here, copies of one frame.
TEST_F(Judging, penalty_of_frames_without_a_class_is_the_common_one) {
    for (const float common : {kNever, kAlways}) {
        Layout layout = by_class();
        CostRatios ratios;
        ratios.fill(common == kNever ? kAlways : kNever);
        ratios.back() = common;
        layout.filters[0].key = packet::KeyMode::kFrame;
        layout.filters[0].confidence = pipeline::ConfidencePolicy::penalty(ratios);
        Rig rig(layout);
        rig.offer(0, arp());
        rig.offer(0, arp());
        rig.settle();
        EXPECT_EQ(rig.count(Reason::kDoubt), common == kNever ? 1U : 0U);
        EXPECT_EQ(rig.count(Reason::kEcho), common == kNever ? 0U : 1U);
        rig.sent(2);
    }
}

}  // namespace
}  // namespace unecho::test
