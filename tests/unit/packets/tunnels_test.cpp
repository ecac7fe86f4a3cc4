// SPDX-License-Identifier: BSD-3-Clause
// The table of tunnels, and where a walk through them ends. tunnels_vs_answer_test.py compares
// walks of many packets with an oracle.
#include "packets/tunnels/tunnels.h"

#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "digest_frame.h"
#include "support/link_frames.h"
#include "support/source_root.h"

namespace unecho::packet {
namespace {

using test::build;
using test::build_ethernet;
using test::build_ip;
using test::Bytes;
using test::PacketSpec;
using test::operator+;
using enum Encapsulation;

TEST(Encapsulations, each_has_its_row_in_the_documentation) {
    std::ifstream file(test::source_root() + "/docs/tunnels.md");
    std::stringstream page;
    page << file.rdbuf();
    for (const EncapsulationInfo& info : kEncapsulations) {
        const std::string row = "\n| `" + std::string(info.name) + "` | " +
                                std::string(info.source) + " | " + std::string(info.where) + " | ";
        EXPECT_NE(page.str().find(row), std::string::npos) << row;
    }
}

// ---- where the walk ends ----

const Tunnels& all_tunnels() {
    static const Tunnels kAll(EncapsulationSet::all());
    return kAll;
}

Tunnels only(Encapsulation one) {
    EncapsulationSet set;
    set.add(one);
    return Tunnels(set);
}

// Return why the walk ended, behind "in " if it opened anything.
std::string end_of_walk(const Tunnels& tunnels, LinkType link, const Bytes& bytes) {
    const ExactFrame exact(bytes);
    const Frame frame = exact.frame();
    ParsedBurst parsed;
    DecapsulatedBurst opened;
    parse_innermost(tunnels, link, {&frame, 1}, parsed, opened);
    EXPECT_LE(opened.fragments + opened.malformed + opened.other + opened.too_deep, 1U);
    const std::string end = opened.fragments != 0   ? "fragment"
                            : opened.malformed != 0 ? "malformed"
                            : opened.other != 0     ? "other"
                            : opened.too_deep != 0  ? "too deep"
                                                    : "nothing";
    return (opened.opened != 0 ? "in " : "") + end;
}

// The encapsulations up to the last packet, as the audit and reports name them.
std::vector<Encapsulation> way_of(LinkType link, const Bytes& bytes) {
    const ExactFrame exact(bytes);
    const DecapsulatedLevels way =
        decapsulated_levels(all_tunnels(), link, exact.frame(), parse_frame(link, exact.frame()));
    std::vector<Encapsulation> out;
    for (unsigned i = 0; i < way.count; ++i) {
        out.push_back(way.levels[i].encapsulation);
    }
    return out;
}

// number: a UDP port, or below 256 an IP protocol.
Bytes carried(unsigned number, const Bytes& payload) {
    return number < 256
               ? build_ip({.protocol = static_cast<std::uint8_t>(number), .payload = payload})
               : build_ip(
                     {.destination_port = static_cast<std::uint16_t>(number), .payload = payload});
}

const Bytes kLabel{0, 1, 1, 64};  // label 16, bottom of the stack
const Bytes kVxlan9{8, 0, 0, 0, 0, 0, 9, 0};
const Bytes kService9{0, 0, 0, 9};  // of PBB, behind EtherType 0x88E7
const PacketSpec kInside{.id = 77, .payload = test::counting(30)};

struct Ended {
    unsigned number;
    Bytes payload;
    std::string end;
};

TEST(Walk, ends_before_what_is_contradictory_or_holds_no_packet) {
    const Bytes ip = build_ip(kInside);
    const Bytes frame = build(kInside);
    const Bytes ppp = Bytes{0, 0x21} + ip;
    const Bytes arp = build_ethernet(0x0806, Bytes(28));
    const std::vector<Ended> rows{
        // RFC 7348, section 5: the I flag must be set.
        {4789, Bytes(8) + frame, "malformed"},
        {4789, kVxlan9 + arp, "other"},
        {4789, kVxlan9 + build_ethernet(0x88E7, {0, 0, 9}), "malformed"},
        // draft-ietf-nvo3-vxlan-gpe-13, section 3: next protocol 4 is NSH; the O flag is OAM.
        {4790, Bytes(7, 12), "malformed"},
        {4790, Bytes{12, 0, 0, 4, 0, 0, 9, 0} + ip, "other"},
        {4790, Bytes{13, 0, 0, 1, 0, 0, 9, 0} + ip, "other"},
        // RFC 8926, section 3.4: version 0; the O flag announces control; options in words.
        {6081, Bytes{63, 0, 8, 0, 0, 0, 9, 0} + ip, "malformed"},
        {6081, Bytes{64, 0, 8, 0, 0, 0, 9, 0} + ip, "other"},
        {6081, Bytes{0, 128, 8, 0, 0, 0, 9, 0} + ip, "other"},
        {6081, Bytes{0, 0, 0x89, 2, 0, 0, 9, 0} + ip, "other"},
        // RFC 2784 and 1701: source routes and other versions.
        {47, Bytes{0x40, 0, 8, 0} + ip, "other"},
        {47, Bytes{0, 2, 8, 0} + ip, "other"},
        {47, Bytes{0x30, 1, 8, 0} + Bytes(8) + ip, "other"},
        // RFC 2637, section 4.1: K must be set, C must not; without S there is no payload.
        {47, Bytes{0x10, 1, 0x88, 11} + Bytes(8) + ppp, "malformed"},
        {47, Bytes{0xB0, 1, 0x88, 11} + Bytes(8) + ppp, "malformed"},
        {47, Bytes{0x20, 0x81, 0x88, 11} + Bytes(8), "other"},
        // draft-foschiano-erspan-03: type II is version 1, type III version 2; frame type 1.
        {47, Bytes{0x10, 0, 0x88, 0xBE} + Bytes(12, 32) + frame, "malformed"},
        {47, Bytes{0x10, 0, 0x22, 0xEB} + Bytes(16, 16) + frame, "malformed"},
        {47, Bytes{0x10, 0, 0x22, 0xEB} + Bytes(14, 32) + Bytes{4, 0} + frame, "other"},
        // 3GPP TS 29.281, section 5: version 1, message type 255; extensions of 1 word or more.
        {2152, Bytes{0x48, 255, 0, 58, 0, 0, 0, 9} + ip, "other"},
        {2152, {0x32, 1, 0, 4, 0, 0, 0, 0, 0, 1, 0, 0}, "other"},
        {2152, Bytes{0x32, 255, 0, 2, 0, 0, 0, 9} + ip, "malformed"},
        {2152, Bytes{0x34, 255, 0, 70, 0, 0, 0, 9, 0, 0, 0, 0x85} + Bytes(8) + ip, "malformed"},
        {2152, {0x34, 255, 0, 8, 0, 0, 0, 9, 0, 0, 0, 0x85, 2, 0, 0, 0}, "malformed"},
        // RFC 2661, section 3.1: flag T; version 1 is L2F. RFC 3931: session 0 is control.
        {1701, Bytes{0xC8, 2, 0, 12} + Bytes(8), "other"},
        {1701, Bytes{0, 1, 0, 1, 0, 1} + ppp, "other"},
        {1701, Bytes{0x40, 2, 0, 7, 0, 1, 0, 1} + ppp, "malformed"},
        {1701, {0, 2, 0, 1, 0, 1, 0}, "malformed"},
        {115, Bytes(4) + frame, "other"},
        // RFC 4380, section 5.1.1: an origin has 8 bytes; then IPv6.
        {3544, {0}, "malformed"},
        {3544, ip, "other"},
        // TZSP holds a packet of version 1, type 0 or 1, link type Ethernet.
        {37008, Bytes{2, 0, 0, 1, 1} + frame, "other"},
        {37008, Bytes{1, 4, 0, 1, 1} + frame, "other"},
        {37008, Bytes{1, 0, 0, 18, 1} + frame, "other"},
        // An authentication header that is cut short hides the protocol behind it (RFC 4302).
        {51, {4, 4, 0, 0}, "nothing"},
        {51, Bytes{4, 30, 0, 0} + ip, "nothing"}};
    for (const Ended& row : rows) {
        const Bytes packet = carried(row.number, row.payload);
        EXPECT_EQ(end_of_walk(all_tunnels(), LinkType::kRaw, packet), row.end)
            << row.number << " row " << &row - rows.data();
        EXPECT_TRUE(way_of(LinkType::kRaw, packet).empty()) << row.number;
    }
}

// Only the first fragment says that it carries a tunnel. All fragments keep the outer key.
TEST(Walk, opens_no_fragment_and_no_contradictory_udp) {
    const auto udp = [](PacketSpec spec) {
        spec.destination_port = 4789;
        spec.payload = kVxlan9 + build(kInside);
        return build_ip(spec);
    };
    const auto end = [](const Bytes& packet) {
        return end_of_walk(all_tunnels(), LinkType::kRaw, packet);
    };
    EXPECT_EQ(end(udp({})), "in nothing");
    EXPECT_EQ(end(udp({.more_fragments = true})), "fragment");
    EXPECT_EQ(end(udp({.fragment_offset = 3})), "nothing");
    Bytes packet = udp({});
    packet[24] = packet[25] = 0;  // the datagram ends with the packet
    EXPECT_EQ(end(packet), "in nothing");
    packet[25] = 7;  // below the header
    EXPECT_EQ(end(packet), "malformed");
}

TEST(Walk, names_the_encapsulations_up_to_the_last_packet) {
    struct Row {
        unsigned number;
        Bytes payload;
        std::vector<Encapsulation> way;
        std::string end = "in nothing";
    };
    const Bytes ip = build_ip(kInside);
    const Bytes frame = build(kInside);
    const Bytes erspan_2 = Bytes{0x10, 0, 0x88, 0xBE} + Bytes(4) + Bytes{16} + Bytes(7) + frame;
    Bytes nested = ip;
    for (unsigned i = 1; i < kMaxLevels; ++i) {
        nested = carried(4, nested);
    }
    for (const auto& [number, payload, way, end] : std::vector<Row>{
             {4790, Bytes{12, 0, 0, 5, 0, 0, 9, 0} + kLabel + ip, {kVxlanGpe}},
             {6081, Bytes{0, 0, 0x88, 0x47, 0, 0, 9, 0} + kLabel + ip, {kGeneve}},
             {47, Bytes{0, 0, 0x88, 0x48} + kLabel + ip, {kGre}},
             {4754, erspan_2, {kErspan}},
             // RFC 4448: behind labels an Ethernet frame, with or without a control word
             {137, kLabel + Bytes(4) + frame, {kMpls, kMplsPw}},
             {137, kLabel + frame, {kMpls, kMplsPw}},
             {4789, kVxlan9 + build_ethernet(0x88E7, kService9 + frame), {kVxlan, kPbb}},
             {4, carried(4789, kVxlan9 + build_ethernet(0x0806, Bytes(28))), {kIpInIp}, "in other"},
             {4, carried(41, {0x60, 0, 0}), {kIpInIp}, "in malformed"},
             {4, nested, std::vector(kMaxLevels, kIpInIp)},
             {4, carried(4, nested), std::vector(kMaxLevels, kIpInIp), "in too deep"}}) {
        const Bytes packet = carried(number, payload);
        EXPECT_EQ(end_of_walk(all_tunnels(), LinkType::kRaw, packet), end) << number;
        EXPECT_EQ(way_of(LinkType::kRaw, packet), way) << number;
    }
}

// ---- encapsulations that take the place of an IP packet ----

// RFC 2427: in Frame Relay an EtherType follows the address, or SNAP with an OUI of 0.
TEST(Walk, begins_behind_every_ethertype_whatever_the_link_type) {
    const Bytes wifi = Bytes{0x08, 0x01} + Bytes(22) + Bytes{0xAA, 0xAA, 3, 0, 0, 0, 0x88, 0xE7};
    const Bytes payload = kService9 + build(kInside);
    for (const auto& [link, header] : std::vector<std::pair<LinkType, Bytes>>{
             {LinkType::kEthernet, Bytes(12, 2) + Bytes{0x81, 0, 0, 7, 0x88, 0xE7}},
             {LinkType::kSll, Bytes(14) + Bytes{0x88, 0xE7}},
             {LinkType::kSll2, Bytes{0x88, 0xE7} + Bytes(18)},
             {LinkType::kHdlc, {0x0F, 0, 0x88, 0xE7}},
             {LinkType::kWifi, wifi},
             {LinkType::kFrameRelay, {0x18, 0x40, 0, 1, 0x88, 0xE7}},
             {LinkType::kFrameRelay, {0x18, 0x41, 3, 0x80, 0, 0, 0, 0x88, 0xE7}},
             {LinkType::kFrameRelay, {0x18, 0x41, 3, 0, 0x80, 0, 0, 0, 0x88, 0xE7}}}) {
        EXPECT_EQ(way_of(link, header + payload), std::vector{kPbb}) << name_of(link);
        EXPECT_EQ(digest_of(KeySpec{.tunnels = all_tunnels()}, header + payload, link),
                  digest_of(KeyMode::kPacket, build(kInside)).digest);
        EXPECT_EQ(end_of_walk(all_tunnels(), link, header + Bytes{0, 0, 9}), "malformed");
        EXPECT_EQ(end_of_walk(only(kMplsPw), link, header + payload), "nothing");
    }
    for (const auto& [link, header] : std::vector<std::pair<LinkType, Bytes>>{
             {LinkType::kFrameRelay, {0x18, 0x41, 3, 0x81}},
             {LinkType::kFrameRelay, {0x18, 0x41, 3, 0x80, 0, 0x80, 0xC2}},
             {LinkType::kPpp, {0xC0, 0x21}}}) {
        EXPECT_TRUE(way_of(link, header + Bytes{0x88, 0xE7} + payload).empty());
        EXPECT_EQ(end_of_walk(all_tunnels(), link, header + Bytes{0x88, 0xE7} + payload),
                  "nothing");
    }
}

}  // namespace
}  // namespace unecho::packet
