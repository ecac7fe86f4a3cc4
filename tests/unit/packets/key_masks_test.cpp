// SPDX-License-Identifier: BSD-3-Clause
// The bytes that count in each mode, written down by hand. key_vs_oracle_test.py has copies as
// other taps see them.
#include <algorithm>
#include <functional>
#include <initializer_list>
#include <map>
#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "digest_frame.h"
#include "support/packet_builder.h"

namespace unecho::packet {
namespace {

using test::build;
using test::Bytes;
using test::PacketSpec;

struct Range {
    std::size_t from;
    std::size_t to;  // the first byte behind it
};

// Change each byte: those in the ranges must change the key, the others must not.
void expect_counting(KeyMode mode, const Bytes& bytes, std::initializer_list<Range> ranges) {
    const Digested original = digest_of(mode, bytes);
    ASSERT_EQ(original.outcome, KeyOutcome::kKeyed);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        Bytes changed = bytes;
        changed[at] ^= 0x21;
        const bool counts = std::any_of(ranges.begin(), ranges.end(), [at](const Range& range) {
            return range.from <= at && at < range.to;
        });
        EXPECT_EQ(digest_of(mode, changed) != original, counts) << name_of(mode) << " byte " << at;
    }
}

// Ethernet 0-14, tag 14-18, IP 18-38, UDP 38-46, payload 46-56, trailer 56-59. In all modes but
// frame the EtherTypes (12, 16) count, because others lead elsewhere. The flow modes count the
// first IP byte (version, header length), total length (2, 3) and offset (6, 7): a frame changed
// there is malformed or a fragment.
TEST(Masks, ipv4_every_byte) {
    const Bytes bytes = build(
        {.tags = {{0x8100, 1}}, .tos = 0x20, .payload = test::counting(10), .trailer = {1, 2, 3}});
    ASSERT_EQ(bytes.size(), 59U);
    expect_counting(KeyMode::kPacket, bytes,
                    {{12, 14}, {16, 18}, {18, 19}, {20, 26}, {27, 28}, {30, 56}});
    expect_counting(KeyMode::kFlow, bytes,
                    {{12, 14}, {16, 18}, {18, 19}, {21, 22}, {24, 26}, {27, 28}, {30, 42}});
    expect_counting(KeyMode::kFlowBidir, bytes,
                    {{12, 14}, {16, 18}, {18, 19}, {21, 22}, {24, 26}, {27, 28}, {30, 42}});
    expect_counting(KeyMode::kFrame, bytes, {{0, 59}});
}

// The traffic class is the low half of byte 0 and the high half of byte 1. The other halves
// (version, flow label) are checked separately.
TEST(Masks, ipv6_every_byte) {
    const Bytes bytes = build({.version = 6, .payload = test::counting(10), .trailer = {1, 2, 3}});
    ASSERT_EQ(bytes.size(), 75U);
    expect_counting(KeyMode::kPacket, bytes, {{12, 21}, {22, 72}});
    // The next header 17 ^ 0x21 = 48 has no ports; a payload length 18 ^ 0x21 = 51 still includes
    // them.
    expect_counting(KeyMode::kFlow, bytes, {{12, 15}, {20, 21}, {22, 58}});
    expect_counting(KeyMode::kFlowBidir, bytes, {{12, 15}, {20, 21}, {22, 58}});
    expect_counting(KeyMode::kFrame, bytes, {{0, 75}});
}

TEST(Masks, ipv6_traffic_class_is_masked_and_flow_label_is_not) {
    const PacketSpec spec{.version = 6, .tos = 0xA5, .flow_label = 0x12345};
    const Digested original = digest_of(KeyMode::kPacket, build(spec));
    PacketSpec other = spec;
    for (unsigned bit = 0; bit < 8; ++bit) {
        other.tos = static_cast<std::uint8_t>(spec.tos ^ 1U << bit);
        EXPECT_EQ(digest_of(KeyMode::kPacket, build(other)), original) << bit;
    }
    other = spec;
    for (unsigned bit = 0; bit < 20; ++bit) {
        other.flow_label = spec.flow_label ^ 1U << bit;
        EXPECT_NE(digest_of(KeyMode::kPacket, build(other)), original) << bit;
    }
}

struct Change {
    const char* name;
    std::function<void(PacketSpec&)> apply;
};

// A retransmitted TCP segment has another ID, a fragment another offset: the packets differ.
TEST(PacketMode, ipv4_id_flags_offset_and_options_count) {
    const PacketSpec spec{.payload = test::counting(8)};
    const Digested original = digest_of(KeyMode::kPacket, build(spec));
    for (const Change& change :
         std::initializer_list<Change>{{"ID", [](PacketSpec& s) { s.id += 1; }},
                                       {"DF", [](PacketSpec& s) { s.dont_fragment = true; }},
                                       {"MF", [](PacketSpec& s) { s.more_fragments = true; }},
                                       {"offset", [](PacketSpec& s) { s.fragment_offset = 1; }},
                                       {"options", [](PacketSpec& s) {
                                            s.options = {1, 1, 1, 1};
                                        }}}) {
        PacketSpec other = spec;
        change.apply(other);
        EXPECT_NE(digest_of(KeyMode::kPacket, build(other)), original) << change.name;
    }
}

// The flow-bidir key with the packet's direction distinguishes flows exactly as the flow key.
TEST(FlowModes, key_of_both_ways_and_the_way_tell_flows_apart_as_flow_does) {
    const hash::Secret secret = hash::secret_from_seed(1);
    std::map<std::pair<Digest, bool>, Digest> known;
    std::set<Digest> flows;
    std::set<Digest> pairs;
    for (unsigned n = 0; n < 2 * 3 * 3 * 2 * 2; ++n) {
        PacketSpec spec{.version = n % 2 == 0 ? 4U : 6U};
        spec.source = 0x0A000001U + n / 2 % 3;
        spec.destination = 0x0A000001U + n / 6 % 3;
        spec.source_port = static_cast<std::uint16_t>(80 + n / 18 % 2);
        spec.destination_port = static_cast<std::uint16_t>(80 + n / 36 % 2);
        const Bytes bytes = build(spec);
        const Frame frame{bytes.data(), static_cast<std::uint32_t>(bytes.size())};
        ParsedBurst parsed;
        parse_burst(LinkType::kEthernet, {&frame, 1}, parsed);
        Digest flow = 0;
        Digest both = 0;
        Digest named = 0;
        std::uint64_t turned = ~std::uint64_t{0};
        const KeyMasks masks = digest_burst(KeyMode::kFlow, {&frame, 1}, parsed, secret, &flow);
        digest_burst(KeyMode::kFlowBidir, {&frame, 1}, parsed, secret, &named);
        EXPECT_EQ(digest_both_ways(parsed, secret, &both, turned).keyed, masks.keyed);
        EXPECT_EQ(both, named);
        EXPECT_LE(turned, 1U);
        EXPECT_EQ(known.emplace(std::pair(both, turned != 0), flow).first->second, flow);
        flows.insert(flow);
        pairs.insert(both);
    }
    EXPECT_EQ(known.size(), flows.size());
    EXPECT_LT(pairs.size(), flows.size());
}

TEST(FlowModes, fragments_but_the_first_share_a_key_without_ports) {
    const PacketSpec whole{.payload = test::counting(16)};
    PacketSpec first = whole;
    first.more_fragments = true;
    PacketSpec second = whole;
    second.fragment_offset = 3;
    PacketSpec third = second;
    third.fragment_offset = 5;
    third.payload = test::counting(3, 200);
    PacketSpec zero = whole;
    zero.source_port = zero.destination_port = 0;
    for (const KeyMode mode : {KeyMode::kFlow, KeyMode::kFlowBidir}) {
        EXPECT_EQ(digest_of(mode, build(first)), digest_of(mode, build(whole)));
        EXPECT_EQ(digest_of(mode, build(second)), digest_of(mode, build(third)));
        EXPECT_EQ(digest_of(mode, build(second)), digest_of(mode, build(zero)));
        EXPECT_NE(digest_of(mode, build(second)), digest_of(mode, build(whole)));
    }
}

}  // namespace
}  // namespace unecho::packet
