// SPDX-License-Identifier: BSD-3-Clause
#include "offline/non_ip.h"

#include <gtest/gtest.h>

#include "support/link_frames.h"
#include "support/packet_builder.h"

namespace unecho::offline {
namespace {

using packet::Link;
using test::build_ethernet;
using test::Bytes;
using test::counting;
using test::operator+;

void add(NonIpTypes& types, Link link, const Bytes& frame) {
    types.add(link, {frame.data(), static_cast<std::uint32_t>(frame.size())});
}

TEST(non_ip_types, are_counted_behind_tags_the_most_frequent_first) {
    NonIpTypes types;
    for (unsigned i = 0; i < 3; ++i) {
        add(types, Link::kEthernet, build_ethernet(0x88CC, counting(50)));
    }
    add(types, Link::kEthernet, build_ethernet(0x0806, counting(28), {.tags = {{0x8100, 1}}}));
    add(types, Link::kSll, Bytes(14) + Bytes{0x08, 0x06} + counting(28));
    add(types, Link::kEthernet, build_ethernet(0x1234, counting(28)));
    EXPECT_EQ(
        types.most_first(),
        (std::vector<NonIpType>{{"0x88cc", "LLDP", 3}, {"0x0806", "ARP", 2}, {"0x1234", "", 1}}));
}

TEST(non_ip_types, lengths_of_802_3_are_one) {
    NonIpTypes types;
    for (const std::uint16_t length : {38, 52, 1500}) {
        add(types, Link::kEthernet, build_ethernet(length, counting(60)));
    }
    EXPECT_EQ(types.most_first(), (std::vector<NonIpType>{{"802.3", "", 3}}));
}

TEST(non_ip_types, of_other_link_types_have_their_own_numbers) {
    NonIpTypes types;
    add(types, Link::kPpp, Bytes{0xFF, 0x03, 0xC0, 0x21, 1});
    add(types, Link::kPpp, Bytes{0xC0, 0x21, 2});
    add(types, Link::kNull, Bytes{7, 0, 0, 0});
    add(types, Link::kLoop, Bytes{0, 0, 0, 7});
    add(types, Link::kUnknown, Bytes{1});
    EXPECT_EQ(types.most_first(),
              (std::vector<NonIpType>{
                  {"family 7", "", 2}, {"PPP 0xc021", "LCP", 2}, {"no parser", "", 1}}));
}

}  // namespace
}  // namespace unecho::offline
