// SPDX-License-Identifier: BSD-3-Clause
#include "dedup/engines/non_ip_types.h"

#include <gtest/gtest.h>

#include "support/link_frames.h"
#include "support/packet_builder.h"

namespace unecho::engines {
namespace {

using packet::LinkType;
using test::build_ethernet;
using test::Bytes;
using test::counting;
using test::operator+;

void add(NonIpTypeCounter& types, LinkType link, const Bytes& frame) {
    types.add(link, {frame.data(), static_cast<std::uint32_t>(frame.size())});
}

TEST(non_ip_types, are_counted_behind_tags_the_most_frequent_first) {
    NonIpTypeCounter types;
    for (unsigned i = 0; i < 3; ++i) {
        add(types, LinkType::kEthernet, build_ethernet(0x88CC, counting(50)));
    }
    add(types, LinkType::kEthernet, build_ethernet(0x0806, counting(28), {.tags = {{0x8100, 1}}}));
    add(types, LinkType::kSll, Bytes(14) + Bytes{0x08, 0x06} + counting(28));
    add(types, LinkType::kEthernet, build_ethernet(0x1234, counting(28)));
    EXPECT_EQ(types.most_first(),
              (std::vector<NonIpTypeCount>{
                  {"0x88cc", "LLDP", 3}, {"0x0806", "ARP", 2}, {"0x1234", "", 1}}));
}

TEST(non_ip_types, lengths_of_802_3_are_one) {
    NonIpTypeCounter types;
    for (const std::uint16_t length : {38, 52, 1500}) {
        add(types, LinkType::kEthernet, build_ethernet(length, counting(60)));
    }
    EXPECT_EQ(types.most_first(), (std::vector<NonIpTypeCount>{{"802.3", "", 3}}));
}

TEST(non_ip_types, of_other_link_types_have_their_own_numbers) {
    NonIpTypeCounter types;
    add(types, LinkType::kPpp, Bytes{0xFF, 0x03, 0xC0, 0x21, 1});
    add(types, LinkType::kPpp, Bytes{0xC0, 0x21, 2});
    add(types, LinkType::kNull, Bytes{7, 0, 0, 0});
    add(types, LinkType::kLoop, Bytes{0, 0, 0, 7});
    add(types, LinkType::kUnknown, Bytes{1});
    EXPECT_EQ(types.most_first(),
              (std::vector<NonIpTypeCount>{
                  {"family 7", "", 2}, {"PPP 0xc021", "LCP", 2}, {"no parser", "", 1}}));
}

TEST(non_ip_types, of_802_11_are_the_types_of_its_frames_where_there_is_no_ethertype) {
    NonIpTypeCounter types;
    const Bytes data = Bytes{0x08, 0x01} + counting(20) + Bytes{0x10, 0};
    const Bytes radiotap{0, 0, 8, 0, 0, 0, 0, 0};
    for (unsigned i = 0; i < 3; ++i) {
        add(types, LinkType::kRadiotap, radiotap + Bytes{0xD4, 0, 0, 0} + counting(6));
        add(types, LinkType::kAvs, Bytes{0x80, 0x21, 0x10, 1, 0, 0, 0, 8, 0xB4, 0});
    }
    add(types, LinkType::kWifi, Bytes{0x80, 0});
    add(types, LinkType::kRadiotap, radiotap + data + Bytes{0x42, 0x42, 0x03});
    add(types, LinkType::kWifi, data + Bytes{0xAA, 0xAA, 0x03, 0, 0, 0, 0x88, 0x8E} + counting(9));
    add(types, LinkType::kEthernet, build_ethernet(0x888E, counting(50)));
    EXPECT_EQ(types.most_first(), (std::vector<NonIpTypeCount>{{"802.11", "control", 6},
                                                               {"0x888e", "EAPOL", 2},
                                                               {"802.11", "management", 1},
                                                               {"802.11", "data", 1}}));
}

TEST(non_ip_types, of_serial_lines_and_logs_are_named_by_these) {
    NonIpTypeCounter types;
    add(types, LinkType::kHdlc, Bytes{0x8F, 0, 0x80, 0x35, 1});
    add(types, LinkType::kFrameRelay, Bytes{0x18, 0x41, 3, 0x81, 1});
    add(types, LinkType::kNflog, Bytes{7, 0, 0, 1});
    EXPECT_EQ(types.most_first(),
              (std::vector<NonIpTypeCount>{
                  {"family 7", "", 1}, {"HDLC 0x8035", "RARP", 1}, {"Frame Relay", "", 1}}));
}

}  // namespace
}  // namespace unecho::engines
