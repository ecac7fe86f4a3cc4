// SPDX-License-Identifier: BSD-3-Clause
// Keys of frames without an IP packet: the bytes that count, and equal keys for all copies.
#include <array>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/ids.h"
#include "digest_frame.h"
#include "packets/parse.h"
#include "support/link_frames.h"

namespace unecho::packet {
namespace {

using test::build_ethernet;
using test::Bytes;
using test::counting;
using test::Tag;
using test::operator+;

constexpr std::uint16_t kLldp = 0x88CC;

Bytes tagged(std::uint16_t type, const Bytes& body, std::vector<Tag> tags) {
    return build_ethernet(type, body, {.tags = std::move(tags)});
}

// Return the bytes that change the key, including those that lead to another interpretation.
std::vector<std::size_t> counting_bytes(const Bytes& frame, LinkType link = LinkType::kEthernet) {
    std::vector<std::size_t> out;
    const Digest whole = non_ip_digest_of(frame, link);
    for (std::size_t at = 0; at < frame.size(); ++at) {
        Bytes changed = frame;
        changed[at] ^= 0x11;
        if (non_ip_digest_of(changed, link) != whole) {
            out.push_back(at);
        }
    }
    return out;
}

std::vector<std::size_t> all_but(std::size_t size, std::size_t from, std::size_t to) {
    std::vector<std::size_t> out;
    for (std::size_t at = 0; at < size; ++at) {
        if (at < from || at >= to) {
            out.push_back(at);
        }
    }
    return out;
}

// ---- bytes that count, written down by hand ----

TEST(NonIpKey, of_ethernet_is_macs_ethertype_and_all_behind) {
    EXPECT_EQ(counting_bytes(build_ethernet(kLldp, counting(80))), all_but(94, 0, 0));
}

TEST(NonIpKey, of_802_3_ends_with_its_length) {
    Bytes frame = build_ethernet(38, counting(60));
    EXPECT_EQ(counting_bytes(frame), all_but(74, 14 + 38, 74));
    frame[13] = 100;  // longer than captured
    EXPECT_EQ(counting_bytes(frame), all_but(74, 0, 0));
}

// IEC 62439-3: one frame for each direction of the ring; they differ in the path, not the number.
TEST(NonIpKey, of_hsr_is_without_the_path_and_with_the_number) {
    const auto ring = [](std::uint8_t path, std::uint8_t number) {
        return build_ethernet(0x892F, Bytes{path, 0x4E, 0, number, 0x88, 0xB8} + counting(80));
    };
    ASSERT_NE(non_ip_digest_of(ring(0x00, 1)), 0U);
    EXPECT_EQ(non_ip_digest_of(ring(0x00, 1)), non_ip_digest_of(ring(0x10, 1)));
    EXPECT_NE(non_ip_digest_of(ring(0x00, 1)), non_ip_digest_of(ring(0x00, 2)));
    EXPECT_EQ(owner_of(ring(0x00, 1)), owner_of(ring(0x10, 1)));
    const auto replicated = [](std::uint8_t number) {
        return build_ethernet(0xF1C1, Bytes{0, 0, 0, number, 0x88, 0xB8} + counting(80));
    };
    EXPECT_NE(non_ip_digest_of(replicated(1)), non_ip_digest_of(replicated(2)));
}

// RFC 1042: the length counts LLC and SNAP too. Behind it is padding, or a check sequence.
TEST(NonIpKey, of_snap_is_that_of_its_ethertype_and_ends_with_the_length) {
    const Bytes lldp = counting(80);
    const Bytes frame = build_ethernet(88, Bytes{0xAA, 0xAA, 3, 0, 0, 0, 0x88, 0xCC} + lldp);
    EXPECT_EQ(non_ip_digest_of(frame), non_ip_digest_of(build_ethernet(kLldp, lldp)));
    EXPECT_EQ(non_ip_digest_of(frame + Bytes{1, 2, 3, 4}), non_ip_digest_of(frame));
    EXPECT_NE(non_ip_digest_of(build_ethernet(kLldp, lldp + Bytes{1, 2, 3, 4})),
              non_ip_digest_of(frame));
}

Bytes redundant(Bytes frame, std::uint8_t lan, std::uint16_t size, std::uint8_t number = 7) {
    const Bytes trailer{0,
                        number,
                        static_cast<std::uint8_t>(lan << 4 | size >> 8),
                        static_cast<std::uint8_t>(size),
                        0x88,
                        0xFB};
    frame.insert(frame.end(), trailer.begin(), trailer.end());
    return frame;
}

// IEC 62439-3: one frame on each LAN; the trailers differ in the LAN.
TEST(NonIpKey, of_prp_is_without_the_lan_and_with_the_number) {
    for (const std::vector<Tag>& tags : {std::vector<Tag>{}, std::vector<Tag>{{0x8100, 5}}}) {
        const Bytes frame = tagged(kLldp, counting(80), tags);
        const auto lan = [&](std::uint8_t id, std::uint8_t number, std::uint16_t size = 86) {
            return non_ip_digest_of(redundant(frame, id, size, number));
        };
        EXPECT_EQ(lan(0xA, 1), lan(0xB, 1));
        EXPECT_NE(lan(0xA, 1), lan(0xA, 2));
        EXPECT_NE(lan(0xA, 1), non_ip_digest_of(frame));
        EXPECT_NE(lan(0xA, 1, 85), lan(0xB, 1, 85));  // the size does not fit: no trailer
        EXPECT_NE(lan(0xC, 1), lan(0xB, 1));
        EXPECT_EQ(non_ip_digest_of(redundant(frame, 0xA, 86) + Bytes{9, 8, 7, 6}),
                  non_ip_digest_of(redundant(frame, 0xB, 86)));  // a check sequence behind it
        EXPECT_EQ(owner_of(redundant(frame, 0xA, 86)), owner_of(redundant(frame, 0xB, 86)));
    }
    const Bytes tagged_too = redundant(tagged(kLldp, counting(80), {{0x8100, 5}}), 0xA, 90);
    EXPECT_EQ(non_ip_digest_of(tagged_too),
              non_ip_digest_of(redundant(build_ethernet(kLldp, counting(80)), 0xB, 86)));
}

// A frame from a PRP network on an HSR ring: all copies on the ring have the ring's number.
TEST(NonIpKey, of_hsr_with_a_prp_trailer_has_the_number_of_hsr) {
    const auto ring = [](std::uint8_t number, std::uint8_t lan, std::uint8_t prp) {
        const Bytes body = Bytes{0, 0x4E, 0, number, 0x88, 0xCC} + counting(80);
        return non_ip_digest_of(redundant(build_ethernet(0x892F, body), lan, 86, prp));
    };
    EXPECT_EQ(ring(1, 0xA, 7), ring(1, 0xB, 7));
    EXPECT_EQ(ring(1, 0xA, 7), ring(1, 0xA, 8));
    EXPECT_NE(ring(1, 0xA, 7), ring(2, 0xA, 7));
    EXPECT_NE(ring(1, 0xA, 7),
              non_ip_digest_of(redundant(build_ethernet(kLldp, counting(80)), 0xA, 86)));
}

// Switch timestamps, check sequences and any padding may follow the message.
TEST(NonIpKey, of_a_message_that_says_its_length_ends_with_it) {
    Bytes arp = counting(28);
    arp[4] = 6;
    arp[5] = 4;
    Bytes goose = counting(70);
    goose[2] = 0;
    goose[3] = 70;
    Bytes eapol = counting(64);
    eapol[2] = 0;
    eapol[3] = 60;
    for (const auto& [type, message] :
         std::vector<std::pair<std::uint16_t, Bytes>>{{0x0806, arp},
                                                      {0x8035, arp},
                                                      {0x88B8, goose},
                                                      {0x88B9, goose},
                                                      {0x88BA, goose},
                                                      {0x88F7, goose},
                                                      {0x888E, eapol}}) {
        const Bytes plain = build_ethernet(type, message);
        EXPECT_EQ(non_ip_digest_of(plain + Bytes{1, 2, 3, 4}), non_ip_digest_of(plain)) << type;
        EXPECT_EQ(non_ip_digest_of(plain + Bytes(90, 5)), non_ip_digest_of(plain)) << type;
        const Bytes cut(plain.begin(), plain.end() - 1);
        EXPECT_NE(non_ip_digest_of(cut), non_ip_digest_of(plain)) << type;
    }
}

// The outer addresses are those of two switches.
TEST(NonIpKey, of_a_frame_inside_another_one_is_that_frames) {
    const Bytes plain = build_ethernet(kLldp, counting(80));
    for (Bytes before : {Bytes{0x89, 3, 0, 0x60}, Bytes{0x22, 0xF3, 0, 1, 0, 1, 0, 2},
                         Bytes{0x89, 0x4F, 0x0F, 0xC2, 2, 3, 0, 0, 1, 255}}) {
        const Bytes outer = Bytes{2, 0, 0, 0, 0, 0xF1, 2, 0, 0, 0, 0, 0xF2} + before + plain;
        EXPECT_EQ(non_ip_digest_of(outer), non_ip_digest_of(plain));
        EXPECT_EQ(owner_of(outer), owner_of(plain));
    }
    const Bytes bridged = build_ethernet(38, counting(60));
    EXPECT_EQ(non_ip_digest_of(Bytes(12, 7) + Bytes{0x89, 3, 0, 0x60} + bridged),
              non_ip_digest_of(bridged));
}

// Transparent Ethernet bridging (EtherType 0x6558): the frame inside has all that is compared.
TEST(NonIpKey, of_a_bridged_frame_is_that_frames_on_every_link_type) {
    const Bytes plain = build_ethernet(kLldp, counting(80));
    const Bytes wifi = Bytes{0x08, 0x01} + Bytes(22) + Bytes{0xAA, 0xAA, 3, 0, 0, 0, 0x65, 0x58};
    for (const auto& [link, header] : std::vector<std::pair<LinkType, Bytes>>{
             {LinkType::kEthernet, Bytes(12) + Bytes{0x65, 0x58}},
             {LinkType::kSll, Bytes(14) + Bytes{0x65, 0x58}},
             {LinkType::kSll2, Bytes{0x65, 0x58} + Bytes(18)},
             {LinkType::kHdlc, {0x0F, 0, 0x65, 0x58}},
             {LinkType::kWifi, wifi}}) {
        EXPECT_EQ(non_ip_digest_of(header + plain, link), non_ip_digest_of(plain)) << name_of(link);
    }
}

TEST(NonIpKey, of_cooked_captures_is_the_sender_ethertype_and_all_behind) {
    // Direction, interface and address length do not count.
    const Bytes sll{0, 4, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 0x88, 0xCC};
    EXPECT_EQ(counting_bytes(sll + counting(50), LinkType::kSll), all_but(66, 0, 6));
    const Bytes sll2{0x88, 0xCC, 0, 0, 0, 0, 0, 3, 0, 1, 4, 6, 2, 0, 0, 0, 0, 1, 0, 0};
    EXPECT_EQ(counting_bytes(sll2 + counting(50), LinkType::kSll2), all_but(70, 2, 12));
    EXPECT_EQ(non_ip_digest_of(sll + counting(50), LinkType::kSll),
              non_ip_digest_of(sll2 + counting(50), LinkType::kSll2));
    // Linux has numbers there, not lengths.
    Bytes llc = sll;
    llc[14] = 0;
    llc[15] = 4;
    EXPECT_EQ(counting_bytes(llc + counting(50), LinkType::kSll), all_but(66, 0, 6));
}

TEST(NonIpKey, of_ppp_is_protocol_and_all_behind) {
    const Bytes lcp = Bytes{0xC0, 0x21} + counting(20);
    EXPECT_EQ(counting_bytes(lcp, LinkType::kPpp), all_but(22, 0, 0));
    EXPECT_EQ(non_ip_digest_of(lcp, LinkType::kPpp),
              non_ip_digest_of(Bytes{0xFF, 0x03} + lcp, LinkType::kPpp));
    const Bytes session = Bytes{0x11, 0, 0, 9, 0, 22} + lcp;  // its number counts
    EXPECT_EQ(counting_bytes(session, LinkType::kPppEther), all_but(28, 0, 0));
}

TEST(NonIpKey, of_loopbacks_is_family_and_all_behind_in_either_order) {
    const Bytes little = Bytes{7, 0, 0, 0} + counting(20);
    const Bytes big = Bytes{0, 0, 0, 7} + counting(20);
    EXPECT_NE(non_ip_digest_of(little, LinkType::kNull), 0U);
    EXPECT_EQ(non_ip_digest_of(little, LinkType::kNull), non_ip_digest_of(big, LinkType::kNull));
    EXPECT_EQ(non_ip_digest_of(big, LinkType::kLoop), non_ip_digest_of(big, LinkType::kNull));
    EXPECT_NE(non_ip_digest_of(Bytes{8, 0, 0, 0} + counting(20), LinkType::kNull),
              non_ip_digest_of(little, LinkType::kNull));
}

// ---- serial lines and padding ----

TEST(NonIpKey, of_serial_lines_is_ethertype_and_all_behind) {
    const Bytes frame = Bytes{0x0F, 0, 0x88, 0xCC} + counting(20);
    EXPECT_EQ(counting_bytes(frame, LinkType::kHdlc), all_but(24, 0, 2));
    EXPECT_NE(non_ip_digest_of(frame + Bytes(1), LinkType::kHdlc),
              non_ip_digest_of(frame, LinkType::kHdlc));
}

TEST(NonIpKey, of_the_netfilter_log_is_family_and_all_behind) {
    const Bytes frame = Bytes{7, 0, 0, 6} + counting(20);
    EXPECT_EQ(counting_bytes(frame, LinkType::kNflog), all_but(24, 1, 4));
}

// ---- bursts ----

// They never have the digest of an IP packet's key or of an owner.
TEST(NonIpKey, in_a_burst_only_frames_without_ip_get_one) {
    const Bytes lldp = build_ethernet(kLldp, counting(60));
    const Bytes packet = test::build({.payload = counting(9)});
    Bytes cut = packet;
    cut.resize(20);
    const std::vector<Bytes> all{lldp, packet, cut, lldp, packet};
    std::vector<Frame> frames;
    for (const Bytes& bytes : all) {
        frames.push_back({bytes.data(), static_cast<std::uint32_t>(bytes.size())});
    }
    std::array<Digest, kMaxBurst> digests{};
    KeyMasks masks = parse_and_digest(KeyMode::kPacket, LinkType::kEthernet, frames, test_secret(),
                                      digests.data());
    const Digest of_packet = digests[1];
    digest_non_ip(LinkType::kEthernet, frames, test_secret(), digests.data(), masks);
    EXPECT_EQ(masks.keyed, 0b11011U);
    EXPECT_EQ(masks.non_ip, 0U);
    EXPECT_EQ(masks.malformed, 0b00100U);
    EXPECT_EQ(digests[1], of_packet);
    EXPECT_EQ(digests[0], digests[3]);
    EXPECT_EQ(digests[0], non_ip_digest_of(lldp));
    EXPECT_NE(digests[0], owner_of(lldp));
}

}  // namespace
}  // namespace unecho::packet
