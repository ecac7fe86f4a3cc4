// SPDX-License-Identifier: BSD-3-Clause
// 802.11 frames: which of them hold an IP packet, and which bytes of the others are compared.
#include "packets/wifi.h"

#include <vector>

#include <gtest/gtest.h>

#include "digest_frame.h"
#include "packets/parse.h"
#include "support/link_frames.h"

namespace unecho::packet {
namespace {

using test::build_ethernet;
using test::build_ip;
using test::Bytes;
using test::counting;
using test::operator+;

constexpr std::uint16_t kArp = 0x0806;
const Bytes kSnapIpv4{0xAA, 0xAA, 0x03, 0, 0, 0, 0x08, 0x00};
const Bytes kSnapArp{0xAA, 0xAA, 0x03, 0, 0, 0, 0x08, 0x06};
const Bytes kOne{2, 0, 0, 0, 0, 1};
const Bytes kTwo{2, 0, 0, 0, 0, 2};
const Bytes kAccess{6, 6, 6, 6, 6, 6};
const Bytes kOtherAccess{6, 6, 6, 6, 6, 7};
const Bytes kCheck{0xDE, 0xAD, 0xBE, 0xEF};

// Return frame control, duration, three addresses and sequence control.
Bytes header(std::uint8_t first, std::uint8_t second, unsigned number = 7) {
    return Bytes{first, second, 0x3A, 0x01} + kAccess + kOne + kTwo +
           Bytes{static_cast<std::uint8_t>(number << 4), static_cast<std::uint8_t>(number >> 4)};
}

// Return a radiotap header with these flags; ppi() returns PPI with these 802.11-Common flags.
Bytes radiotap(std::uint8_t flags) {
    return {0, 0, 10, 0, 2, 0, 0, 0, flags, 0};
}

Bytes ppi(std::uint8_t flags) {
    return Bytes{0, 0, 32, 0, 105, 0, 0, 0, 2, 0, 20, 0} + Bytes(8) + Bytes{flags} + Bytes(11);
}

L3Type found_in(const Bytes& frame, LinkType link = LinkType::kWifi) {
    const ExactFrame exact(frame);
    return parse_frame(link, exact.frame()).found;
}

std::uint32_t length_in(const Bytes& frame, LinkType link) {
    const ExactFrame exact(frame);
    const Parsed parsed = parse_frame(link, exact.frame());
    EXPECT_EQ(parsed.found, L3Type::kIpv4);
    return parsed.ip.length;
}

// ---- frames that hold an IP packet ----

TEST(FindIpInWifi, only_data_in_clear_of_version_0_does) {
    for (unsigned first = 0; first < 256; ++first) {
        for (const unsigned second : {0x00U, 0x01U, 0x02U, 0x08U, 0x40U, 0x42U}) {
            const bool data = (first & 0x4F) == 0x08;
            const Bytes qos(data && first >= 0x80 ? 2 : 0);
            const Bytes frame =
                header(static_cast<std::uint8_t>(first), static_cast<std::uint8_t>(second)) + qos +
                kSnapIpv4 + build_ip({});
            ASSERT_EQ(found_in(frame),
                      data && (second & 0x40) == 0 ? L3Type::kIpv4 : L3Type::kNonIp)
                << first << " " << second;
        }
    }
}

TEST(FindIpInWifi, later_fragments_and_several_packets_in_one_are_not_ip) {
    Bytes frame = header(0x08, 0x06) + kSnapIpv4 + build_ip({});
    EXPECT_EQ(found_in(frame), L3Type::kIpv4);  // the first fragment: more follow
    frame[22] |= 1;
    EXPECT_EQ(found_in(frame), L3Type::kNonIp);
    for (unsigned control = 0; control < 256; ++control) {
        const Bytes several = header(0x88, 0x01) + Bytes{static_cast<std::uint8_t>(control), 0} +
                              kSnapIpv4 + build_ip({});
        EXPECT_EQ(found_in(several), control < 0x80 ? L3Type::kIpv4 : L3Type::kNonIp) << control;
    }
}

TEST(FindIpInWifi, headers_of_radios_must_lie_in_the_frame) {
    const Bytes frame = header(0x08, 0x01) + kSnapIpv4 + build_ip({});
    for (const LinkType link : {LinkType::kRadiotap, LinkType::kPpi, LinkType::kAvs}) {
        const bool avs = link == LinkType::kAvs;
        const Bytes radio = avs                           ? Bytes{0x80, 0x21, 0x10, 1, 0, 0, 0, 8}
                            : link == LinkType::kRadiotap ? Bytes{0, 0, 8, 0, 0, 0, 0, 0}
                                                          : Bytes{0, 0, 8, 0, 105, 0, 0, 0};
        const auto size = static_cast<unsigned>(8 + frame.size());
        for (unsigned length = 0; length < 300; ++length) {
            Bytes changed = radio + frame;
            changed[avs ? 7 : 2] = static_cast<std::uint8_t>(length);
            changed[avs ? 6 : 3] = static_cast<std::uint8_t>(length >> 8);
            const bool possible = length >= 8 && length <= size;
            ASSERT_EQ(find_wifi(link, changed.data(), size).reached,
                      possible ? Reached::kYes : Reached::kCut)
                << name_of(link) << " " << length;
        }
    }
    EXPECT_EQ(found_in(Bytes{0, 0, 8, 0, 1, 0, 0, 0} + frame, LinkType::kPpi), L3Type::kNonIp);
}

// ---- the check sequence ----

TEST(FindIpInWifi, check_sequence_is_no_part_of_a_packet_without_a_length) {
    Bytes ip = build_ip({.payload = counting(30)});
    ip[2] = ip[3] = 0;
    const auto size = static_cast<std::uint32_t>(ip.size());
    const Bytes frame = header(0x08, 0x01) + kSnapIpv4 + ip + kCheck;
    EXPECT_EQ(length_in(radiotap(0x10) + frame, LinkType::kRadiotap), size);
    EXPECT_EQ(length_in(radiotap(0x00) + frame, LinkType::kRadiotap), size + 4);
    EXPECT_EQ(length_in(ppi(1) + frame, LinkType::kPpi), size);
    EXPECT_EQ(length_in(ppi(0) + frame, LinkType::kPpi), size + 4);
}

// A field that is too short or exceeds the header is ignored. One before it is skipped, by units of
// four bytes if the header is aligned.
TEST(FindIpInWifi, fields_of_ppi_tell_of_a_check_sequence) {
    Bytes ip = build_ip({.payload = counting(30)});
    ip[2] = ip[3] = 0;
    const auto size = static_cast<std::uint32_t>(ip.size());
    const Bytes frame = header(0x08, 0x01) + kSnapIpv4 + ip + kCheck;
    Bytes common = ppi(1);
    common[10] = 9;
    EXPECT_EQ(length_in(common + frame, LinkType::kPpi), size + 4);
    common[10] = 21;
    EXPECT_EQ(length_in(common + frame, LinkType::kPpi), size + 4);
    const Bytes behind = Bytes{2, 0, 20, 0} + Bytes(8) + Bytes{1} + Bytes(11);
    const Bytes aligned = Bytes{0, 1, 40, 0, 105, 0, 0, 0, 3, 0, 1, 0, 9, 0, 0, 0} + behind;
    EXPECT_EQ(length_in(aligned + frame, LinkType::kPpi), size);
    const Bytes packed = Bytes{0, 0, 37, 0, 105, 0, 0, 0, 3, 0, 1, 0, 9} + behind;
    EXPECT_EQ(length_in(packed + frame, LinkType::kPpi), size);
}

TEST(FindIpInWifi, fields_that_radiotap_names_lie_in_its_header) {
    const Bytes frame = header(0x08, 0x01) + kSnapIpv4 + build_ip({});
    EXPECT_EQ(found_in(Bytes{0, 0, 8, 0, 0, 0, 0, 0x80} + frame, LinkType::kRadiotap),
              L3Type::kMalformed);
    EXPECT_EQ(found_in(Bytes{0, 0, 8, 0, 2, 0, 0, 0} + frame, LinkType::kRadiotap),
              L3Type::kMalformed);
}

// ---- comparison without an IP packet ----

// Frames to an access point, from it, between two of them, and without any have the same stations.
TEST(NonIpInWifi, with_an_ethertype_is_as_the_same_frame_of_ethernet) {
    const Bytes body = counting(28);
    test::PacketSpec link;
    std::copy(kTwo.begin(), kTwo.end(), link.destination_mac.begin());
    std::copy(kOne.begin(), kOne.end(), link.source_mac.begin());
    const Bytes ethernet = build_ethernet(kArp, body, link);
    const Bytes number{0x70, 0};
    const Bytes duration{0x3A, 0x01};
    const std::vector<Bytes> frames{
        Bytes{0x08, 0x00} + duration + kTwo + kOne + kAccess + number + kSnapArp + body,
        Bytes{0x08, 0x01} + duration + kAccess + kOne + kTwo + number + kSnapArp + body,
        Bytes{0x08, 0x0A} + duration + kTwo + kAccess + kOne + number + kSnapArp + body,
        Bytes{0x08, 0x03} + duration + kOtherAccess + kAccess + kTwo + number + kOne + kSnapArp +
            body};
    for (const Bytes& frame : frames) {
        EXPECT_EQ(non_ip_digest_of(frame, LinkType::kWifi), non_ip_digest_of(ethernet));
        EXPECT_EQ(owner_of(frame, LinkType::kWifi), owner_of(ethernet));
        EXPECT_EQ(non_ip_digest_of(radiotap(0x10) + frame + kCheck, LinkType::kRadiotap),
                  non_ip_digest_of(ethernet));
    }
    EXPECT_NE(non_ip_digest_of(radiotap(0x00) + frames[0] + kCheck, LinkType::kRadiotap),
              non_ip_digest_of(ethernet));
}

// A beacon, encrypted data, several packets in one.
std::vector<Bytes> numbered_frames() {
    return {header(0x80, 0x00) + counting(40), header(0x88, 0x41) + Bytes(2) + counting(60),
            header(0x88, 0x02) + Bytes{0x80, 0} + counting(90)};
}

TEST(NonIpInWifi, of_numbered_frames_every_byte_counts) {
    for (const Bytes& frame : numbered_frames()) {
        const Digest whole = non_ip_digest_of(frame, LinkType::kWifi);
        ASSERT_NE(whole, 0U);
        for (std::size_t at = 1; at < frame.size(); ++at) {  // the first byte is the type
            Bytes changed = frame;
            changed[at] ^= 0x08;  // in the second byte: retry
            EXPECT_NE(non_ip_digest_of(changed, LinkType::kWifi), whole) << at;
        }
    }
}

TEST(NonIpInWifi, what_radios_add_does_not_count) {
    for (const Bytes& frame : numbered_frames()) {
        const Digest bare = non_ip_digest_of(frame, LinkType::kWifi);
        const Bytes timed = Bytes{0, 0, 18, 0, 3, 0, 0, 0} + counting(8) + Bytes{0x10, 9};
        EXPECT_EQ(non_ip_digest_of(radiotap(0) + frame, LinkType::kRadiotap), bare);
        EXPECT_EQ(non_ip_digest_of(timed + frame + kCheck, LinkType::kRadiotap), bare);
        EXPECT_EQ(non_ip_digest_of(ppi(0) + frame, LinkType::kPpi), bare);
        EXPECT_EQ(non_ip_digest_of(ppi(1) + frame + kCheck, LinkType::kPpi), bare);
        EXPECT_EQ(owner_of(ppi(1) + frame + kCheck, LinkType::kPpi),
                  owner_of(frame, LinkType::kWifi));
    }
}

// An acknowledgement equals the one before, and a keep-alive nearly does.
TEST(NonIpInWifi, frames_without_a_number_have_no_key) {
    const std::vector<Bytes> frames{
        Bytes{0xD4, 0, 0, 0} + kOne,   header(0xB4, 0), header(0x48, 0x11) + counting(4),
        header(0xC8, 0x11) + Bytes(2), header(0x81, 0), header(0x8C, 0)};
    for (const Bytes& frame : frames) {
        EXPECT_EQ(found_in(frame), L3Type::kNonIp);
        EXPECT_EQ(non_ip_digest_of(frame, LinkType::kWifi), 0U);
    }
    Bytes cut = header(0x80, 0);
    EXPECT_NE(non_ip_digest_of(cut, LinkType::kWifi), 0U);
    cut.pop_back();
    EXPECT_EQ(non_ip_digest_of(cut, LinkType::kWifi), 0U);
}

// PPI names the link type of its content; of one that is not 802.11, all bytes behind PPI count.
TEST(NonIpKey, of_something_else_in_ppi_is_all_behind_the_header) {
    const Bytes content = counting(20);
    const Bytes frame = Bytes{0, 0, 8, 0, 1, 0, 0, 0} + content;
    const Digest whole = non_ip_digest_of(frame, LinkType::kPpi);
    EXPECT_NE(whole, 0U);
    EXPECT_EQ(
        non_ip_digest_of(Bytes{0, 0, 12, 0, 1, 0, 0, 0, 9, 9, 9, 9} + content, LinkType::kPpi),
        whole);
    for (std::size_t at = 8; at < frame.size(); ++at) {
        Bytes changed = frame;
        changed[at] ^= 1;
        EXPECT_NE(non_ip_digest_of(changed, LinkType::kPpi), whole) << at;
    }
}

}  // namespace
}  // namespace unecho::packet
