// SPDX-License-Identifier: BSD-3-Clause
// Hand-made tunnels, each at the edge of a rule that random ones hardly ever reach.
#include "packets/tunnels/tunnels.h"

#include <algorithm>
#include <fstream>
#include <memory>
#include <span>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "packets/link.h"
#include "support/link_frames.h"
#include "support/packet_builder.h"
#include "support/source_root.h"

namespace unecho::packet {
namespace {

using test::Bytes;
using test::PacketSpec;
using test::operator+;

// A frame in a block of exactly its size, decapsulated.
struct Looked {
    explicit Looked(const Bytes& bytes, LinkType link = LinkType::kEthernet)
        : block(new std::uint8_t[bytes.size()]),
          frame{block.get(), static_cast<std::uint32_t>(bytes.size())} {
        std::copy(bytes.begin(), bytes.end(), block.get());
        parse_innermost(Tunnels(EncapsulationSet::all()), link, {&frame, 1}, parsed, opened);
    }
    std::unique_ptr<std::uint8_t[]> block;
    Frame frame;
    ParsedBurst parsed;
    DecapsulatedBurst opened;
};

PacketSpec udp_to(std::uint16_t port, Bytes payload) {
    PacketSpec spec;
    spec.destination_port = port;
    spec.payload = std::move(payload);
    return spec;
}

Bytes inner_ip() {
    return test::build_ip({});
}

const Bytes kVxlan{8, 0, 0, 0, 0, 0, 7, 0};

// 3GPP TS 29.281, figure 5.1-1: the length counts from the ninth byte on.
TEST(GtpU, extension_headers_end_with_the_message) {
    const auto message = [](std::uint8_t length) {
        return Bytes{0x34, 255, 0, length, 0, 0, 0, 9, 0, 0, 0, 0x85, 1, 0, 0, 0} + inner_ip();
    };
    const auto whole = static_cast<std::uint8_t>(8 + inner_ip().size());
    EXPECT_EQ(Looked(test::build(udp_to(2152, message(whole)))).opened.opened, 1U);
    for (const std::uint8_t length : {4, 5, 7}) {
        const Looked cut(test::build(udp_to(2152, message(length))));
        EXPECT_EQ(cut.opened.opened, 0U) << unsigned{length};
        EXPECT_EQ(cut.opened.malformed, 1U) << unsigned{length};
    }
}

// RFC 3931: bytes that look like IP by chance hardly have a fitting length.
TEST(L2tpV3, takes_packets_that_say_how_long_they_are) {
    Bytes none = test::build({});
    none[16] = none[17] = 0;  // the total length, and the checksum again
    none[24] = none[25] = 0;
    const std::uint16_t sum = test::internet_checksum(std::span(none).subspan(14, 20));
    none[24] = static_cast<std::uint8_t>(sum >> 8);
    none[25] = static_cast<std::uint8_t>(sum);
    for (const auto& [frame, opened] : {std::pair{test::build({}), 1U}, std::pair{none, 0U}}) {
        PacketSpec outer;
        outer.protocol = 115;
        outer.payload = Bytes{0, 0, 0, 5} + frame;
        const Looked looked(test::build(outer));
        EXPECT_EQ(looked.opened.opened, opened);
        EXPECT_EQ(looked.opened.other, 1 - opened);
    }
}

TEST(L2tpV3, session_0_is_for_control) {
    PacketSpec outer;
    outer.protocol = 115;
    outer.payload = Bytes{0, 0, 0, 0} + test::build({});
    const Looked control(test::build(outer));
    EXPECT_EQ(control.opened.opened, 0U);
    EXPECT_EQ(control.opened.other, 1U);
}

// The header of the tunnel is complete, and the inner packet may be.
TEST(Fragments, of_udp_are_not_opened_nor_is_the_first) {
    PacketSpec outer = udp_to(4789, kVxlan + test::build({}));
    EXPECT_EQ(Looked(test::build(outer)).opened.opened, 1U);
    outer.more_fragments = true;
    const Looked first(test::build(outer));
    EXPECT_EQ(first.opened.opened, 0U);
    EXPECT_EQ(first.opened.fragments, 1U);
}

TEST(Fragments, behind_the_eighth_tunnel_are_no_ninth) {
    PacketSpec fragment = udp_to(4789, kVxlan);
    fragment.more_fragments = true;
    Bytes packet = test::build_ip(fragment);
    for (unsigned level = 0; level < kMaxLevels; ++level) {
        PacketSpec outer;
        outer.protocol = 4;
        outer.payload = packet;
        packet = test::build_ip(outer);
    }
    const Looked looked(packet, LinkType::kRaw);
    EXPECT_EQ(looked.opened.opened, 1U);
    EXPECT_EQ(looked.opened.fragments, 1U);
    EXPECT_EQ(looked.opened.too_deep, 0U);
}

// Copies of frames to such addresses are found if pseudowires are listed.
TEST(Pseudowire, addresses_that_begin_with_4_or_6_are_no_ip_headers) {
    for (const std::uint8_t first : {0x45, 0x4C, 0x60, 0x6C}) {
        PacketSpec spec{.version = 6, .payload = test::counting(900)};
        spec.destination_mac = {first, 0x4B, 0x90, 0x12, 0, 14};
        const Bytes inner = test::build(spec);
        const Looked looked(test::build_ethernet(0x8847, Bytes{0, 0, 0x51, 64} + inner));
        ASSERT_EQ(looked.opened.opened, 1U) << unsigned{first};
        EXPECT_EQ(looked.parsed.ip[0].length, inner.size() - 14);
    }
}

// 3GPP TS 29.281 does not say whether a G-PDU holds IP or a frame.
TEST(GtpU, frames_are_no_ip_packets_whatever_their_address_begins_with) {
    PacketSpec inner{.payload = test::counting(100)};
    const auto message = [](const Bytes& held) {
        const auto size = static_cast<std::uint8_t>(held.size());
        return test::build(udp_to(2152, Bytes{0x30, 255, 0, size, 0, 0, 0, 9} + held));
    };
    EXPECT_EQ(Looked(message(test::build_ip(inner))).opened.opened, 1U);
    for (const std::uint8_t first : {0x45, 0x60}) {
        inner.destination_mac = {first, 0, 0, 40, 0, 14};
        const Looked frame(message(test::build(inner)));
        EXPECT_EQ(frame.opened.opened, 0U);
        EXPECT_EQ(frame.opened.other, 1U);
    }
}

// RFC 4385, section 5: an associated channel of four bytes is complete, not Ethernet cut short.
TEST(Pseudowire, nibble_1_without_a_packet_is_an_associated_channel) {
    const Bytes labelled{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0x47, 0, 1, 0x01, 64};
    const Looked channel(labelled + Bytes{0x10, 0, 0, 7});
    EXPECT_EQ(channel.opened.other, 1U);
    EXPECT_EQ(channel.opened.malformed, 0U);
    const Looked ethernet(labelled + Bytes{0x20, 0, 0, 7});
    EXPECT_EQ(ethernet.opened.other, 0U);
    EXPECT_EQ(ethernet.opened.malformed, 1U);
}

// Zeros at the end are padding of a frame without IP, but here they belong to the packet; on cooked
// captures too.
TEST(Pseudowire, zeros_at_the_end_are_the_packets) {
    PacketSpec spec;
    spec.protocol = 253;
    spec.payload = Bytes(8, 0);
    const Bytes inner = test::build(spec);  // 46 bytes with its label, the least that a frame holds
    Bytes cooked(16, 0);
    cooked[3] = 1;
    cooked[14] = 0x88;
    cooked[15] = 0x47;
    const Looked looked(cooked + Bytes{0, 1, 0x01, 64} + inner, LinkType::kSll);
    ASSERT_EQ(looked.opened.opened, 1U);
    EXPECT_EQ(looked.parsed.ip[0].length, inner.size() - 14);
}

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

}  // namespace
}  // namespace unecho::packet
