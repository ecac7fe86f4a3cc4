// SPDX-License-Identifier: BSD-3-Clause
// Frames for each reason why a copy may differ.
#include "captures/analyze/classify/echo_cause.h"

#include <functional>

#include <gtest/gtest.h>

#include "captures/analyze/collect/dissect.h"
#include "support/packet_builder.h"

namespace unecho::analyze {
namespace {

using test::Bytes;
using test::PacketSpec;

const hash::Secret kSecret = hash::secret_from_seed(1);

Dissected dissected(const Bytes& frame, packet::LinkType link = packet::LinkType::kEthernet) {
    const packet::Frame view{frame.data(), static_cast<std::uint32_t>(frame.size())};
    return dissect(link, view, packet::parse_frame(link, view), kSecret);
}

FrameTraits frame_traits(const Bytes& frame, packet::LinkType link = packet::LinkType::kEthernet) {
    return dissected(frame, link).origin;
}

PacketSpec original(unsigned version) {
    PacketSpec spec;
    spec.version = version;
    spec.payload = test::counting(40);
    return spec;
}

struct Case {
    const char* name;
    std::function<void(PacketSpec&)> change;
    Cause cause;
    unsigned differences;
};

constexpr unsigned bit(Difference difference) {
    return 1U << static_cast<unsigned>(difference);
}
constexpr unsigned kHop = bit(Difference::kHopLimit);
constexpr unsigned kMac = bit(Difference::kMacs);
constexpr unsigned kTag = bit(Difference::kTags);
constexpr unsigned kTos = bit(Difference::kTos);
constexpr unsigned kPad = bit(Difference::kPadding);

const std::vector<Case> kCases{
    {"same", [](PacketSpec&) {}, Cause::kIdentical, 0},
    {"hop", [](PacketSpec& s) { --s.ttl; }, Cause::kHopLimit, kHop},
    {"source mac", [](PacketSpec& s) { s.source_mac[5] ^= 1; }, Cause::kRelayed, kMac},
    {"destination mac", [](PacketSpec& s) { s.destination_mac[0] = 6; }, Cause::kRelayed, kMac},
    {"routed",
     [](PacketSpec& s) {
         --s.ttl;
         s.source_mac[5] ^= 1;
     },
     Cause::kRouted, kHop | kMac},
    {"tag",
     [](PacketSpec& s) {
         s.tags = {{0x8100, 7}};
     },
     Cause::kRetagged, kTag},
    {"tags",
     [](PacketSpec& s) {
         s.tags = {{0x88a8, 7}, {0x8100, 8}};
     },
     Cause::kRetagged, kTag},
    {"label", [](PacketSpec& s) { s.labels = {0x12345}; }, Cause::kRetagged, kTag},
    {"tagged and relayed",
     [](PacketSpec& s) {
         s.tags = {{0x8100, 7}};
         s.source_mac[5] ^= 1;
     },
     Cause::kRetagged, kTag | kMac},
    {"tos", [](PacketSpec& s) { s.tos = 0xB8; }, Cause::kRemarked, kTos},
    {"trailer",
     [](PacketSpec& s) {
         s.trailer = {1, 2, 3, 4};
     },
     Cause::kPadded, kPad},
    {"long trailer", [](PacketSpec& s) { s.trailer = test::counting(40); }, Cause::kPadded, kPad},
    {"everything",
     [](PacketSpec& s) {
         --s.ttl;
         s.source_mac[5] ^= 1;
         s.tags = {{0x8100, 7}};
         s.tos = 4;
         s.trailer = {0};
     },
     Cause::kRouted, kHop | kMac | kTag | kTos | kPad},
};

TEST(Classify, every_reason_is_told_for_both_versions) {
    for (const unsigned version : {4U, 6U}) {
        for (const Case& one : kCases) {
            PacketSpec copy = original(version);
            one.change(copy);
            const Differences differences =
                differences_of(frame_traits(build(original(version))), frame_traits(build(copy)));
            EXPECT_EQ(differences, one.differences) << one.name << " IPv" << version;
            EXPECT_EQ(cause_of(differences), one.cause) << one.name << " IPv" << version;
        }
    }
}

// These addresses collide: the finaliser of digests without a secret (remix) maps their two words
// to the value of the original's. Anyone can compute such addresses.
TEST(Classify, crafted_addresses_are_told_from_each_other) {
    PacketSpec copy = original(4);
    copy.destination_mac = {0xB6, 0x03, 0x1F, 0x7F, 0xBC, 0x2F};
    copy.source_mac = {0x42, 0x83, 0x00, 0x07, 0x00, 0x01};
    EXPECT_EQ(differences_of(frame_traits(build(original(4))), frame_traits(build(copy))), kMac);
}

TEST(Classify, other_tags_are_told_from_each_other) {
    PacketSpec a = original(4);
    PacketSpec b = a;
    a.tags = {{0x8100, 7}};
    b.tags = {{0x8100, 8}};
    EXPECT_EQ(differences_of(frame_traits(build(a)), frame_traits(build(b))), kTag);
}

TEST(Classify, padding_of_other_content_or_length_is_told) {
    PacketSpec a = original(4);
    PacketSpec b = a;
    a.trailer = {0, 0};
    b.trailer = {0, 0, 0};
    EXPECT_EQ(differences_of(frame_traits(build(a)), frame_traits(build(b))), kPad);
    b.trailer = {0, 1};
    EXPECT_EQ(differences_of(frame_traits(build(a)), frame_traits(build(b))), kPad);
}

TEST(Classify, checksum_alone_is_its_own_reason) {
    const Bytes a = build(original(4));
    Bytes b = a;
    b[14 + 10] ^= 0xFF;
    const Differences differences = differences_of(frame_traits(a), frame_traits(b));
    EXPECT_EQ(differences, bit(Difference::kChecksum));
    EXPECT_EQ(cause_of(differences), Cause::kChecksum);
}

TEST(Classify, raw_ip_has_no_link_to_differ) {
    const PacketSpec spec = original(4);
    PacketSpec copy = spec;
    --copy.ttl;
    const Differences differences =
        differences_of(frame_traits(build_ip(spec), packet::LinkType::kRaw),
                       frame_traits(build_ip(copy), packet::LinkType::kRaw));
    EXPECT_EQ(cause_of(differences), Cause::kHopLimit);
    EXPECT_EQ(differences, kHop);
}

TEST(Classify, cooked_header_differs_where_a_packet_was_seen_twice_by_a_host) {
    Bytes sll{0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 8, 0};
    const Bytes ip = build_ip(original(4));
    sll.insert(sll.end(), ip.begin(), ip.end());
    Bytes outgoing = sll;
    outgoing[1] = 4;
    EXPECT_EQ(differences_of(frame_traits(sll, packet::LinkType::kSll),
                             frame_traits(outgoing, packet::LinkType::kSll)),
              kMac);
}

// A radiotap header and a data frame to an access point. The members are what may differ: second
// byte of frame control, number, last byte of each address, and the bytes between SNAP and the
// packet.
struct OnAir {
    std::uint8_t control = 0x01;
    std::uint8_t number = 7;
    std::uint8_t stations = 1;
    Bytes tag{};
    Bytes radio{0, 0, 9, 0, 2, 0, 0, 0, 0};
    Bytes check{};
};

Bytes on_air(const OnAir& what) {
    Bytes out = what.radio;
    const auto add = [&](const Bytes& bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); };
    add({0x88, what.control, what.number, 0});
    for (std::uint8_t i = 0; i < 3; ++i) {
        add({2, 0, 0, 0, i, what.stations});
    }
    add({static_cast<std::uint8_t>(what.number << 4), 0, 0, 0, 0xAA, 0xAA, 3, 0, 0, 0});
    add(what.tag);
    add({8, 0});
    add(build_ip(original(4)));
    add(what.check);
    return out;
}

Differences differences_on_air(const OnAir& echo) {
    return differences_of(frame_traits(on_air({}), packet::LinkType::kRadiotap),
                          frame_traits(on_air(echo), packet::LinkType::kRadiotap));
}

TEST(Classify, what_is_sent_again_on_the_air_says_so) {
    const Differences retry = differences_on_air({.control = 0x09});
    EXPECT_EQ(retry, bit(Difference::kRetry));
    EXPECT_EQ(cause_of(retry), Cause::kResent);
    const Differences number = differences_on_air({.number = 8});
    EXPECT_EQ(number, bit(Difference::kNumber));
    EXPECT_EQ(cause_of(number), Cause::kResent);
    EXPECT_EQ(differences_on_air({.control = 0x09, .number = 9}),
              bit(Difference::kRetry) | bit(Difference::kNumber));
}

TEST(Classify, second_radio_hears_the_same_frame) {
    EXPECT_EQ(differences_on_air(
                  {.radio = {0, 0, 10, 0, 2, 0, 0, 0, 0x10, 0}, .check = {0xDE, 0xAD, 0xBE, 0xEF}}),
              0U);
    // A check sequence that radiotap does not announce is no padding either.
    EXPECT_EQ(differences_on_air({.check = {0xDE, 0xAD, 0xBE, 0xEF}}), 0U);
    EXPECT_EQ(cause_of(0), Cause::kIdentical);
}

TEST(Classify, access_point_that_passes_on_writes_other_addresses) {
    const Differences differences = differences_on_air({.number = 9, .stations = 2});
    EXPECT_EQ(differences, kMac | bit(Difference::kNumber));
    EXPECT_EQ(cause_of(differences), Cause::kRelayed);
    EXPECT_EQ(cause_of(differences_on_air({.number = 9, .tag = {0x81, 0, 0, 7}})),
              Cause::kRetagged);
}

TEST(Dissect, names_protocols_and_addresses) {
    PacketSpec spec = original(6);
    spec.extensions = {test::options_extension(60)};
    const Bytes frame = build(spec);
    const Dissected packet = dissected(frame);
    EXPECT_EQ(protocol_name(packet.protocol), "IPv6 UDP");
    const AddressPair pair = addresses_of(packet);
    EXPECT_TRUE(pair.v6);
    EXPECT_EQ(pair.bytes[0], 0x20);
    EXPECT_EQ(pair.bytes[15], 1);
    EXPECT_EQ(pair.bytes[31], 2);
    EXPECT_EQ(protocol_name(200), "IPv4 protocol 200");
    EXPECT_EQ(protocol_name(kNotIp), "not IP");
    EXPECT_EQ(protocol_name(kMalformed), "malformed");
}

TEST(Dissect, tcp_payload_is_found_and_padding_is_not_part_of_it) {
    for (const unsigned version : {4U, 6U}) {
        PacketSpec spec = original(version);
        spec.protocol = 6;
        spec.payload = {9, 8, 7};
        spec.pad = true;
        const Bytes frame = build(spec);
        const Dissected packet = dissected(frame);
        ASSERT_EQ(packet.payload.length, 3U);
        EXPECT_EQ(packet.payload.data[0], 9);
        EXPECT_EQ(packet.payload_size, 3U);
        spec.payload.clear();
        const Bytes bare = build(spec);
        EXPECT_EQ(dissected(bare).payload.length, 0U);
    }
}

}  // namespace
}  // namespace unecho::analyze
