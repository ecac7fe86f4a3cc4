// SPDX-License-Identifier: BSD-3-Clause
#include "packets/ether_types.h"

#include <gtest/gtest.h>

namespace unecho::packet {
namespace {

NonIpFrame frame_of(LinkType kind, std::uint16_t type) {
    NonIpFrame out;
    out.kind = kind;
    out.type = type;
    return out;
}

// Linux's own number for 802.3 is a length too.
TEST(EtherTypes, lengths_of_ethernet_are_one_and_nothing_else_is) {
    for (unsigned type = 0; type <= UINT16_MAX; ++type) {
        const auto number = static_cast<std::uint16_t>(type);
        const bool is_length = type >= 3 && type <= 1500;
        ASSERT_EQ(type_of(frame_of(LinkType::kEthernet, number)),
                  is_length ? k8023 : (NonIpType{NonIpNumber::kEtherType, number}));
        ASSERT_EQ(type_of(frame_of(LinkType::kSll, number)),
                  type == 1 ? k8023 : (NonIpType{NonIpNumber::kEtherType, number}));
    }
}

TEST(EtherTypes, frames_without_a_number_are_of_their_link_type) {
    EXPECT_EQ(type_of(frame_of(LinkType::kFrameRelay, 0)),
              (NonIpType{NonIpNumber::kNone, static_cast<std::uint16_t>(LinkType::kFrameRelay)}));
    EXPECT_EQ(name_of(type_of(frame_of(LinkType::kFrameRelay, 0))), "");
}

TEST(EtherTypes, names_are_those_of_their_kind_of_number) {
    EXPECT_EQ(name_of(k8023), "802.3");
    EXPECT_EQ(name_of({NonIpNumber::kEtherType, 0x0004}), "802.2");
    EXPECT_EQ(name_of({NonIpNumber::kEtherType, 0x0806}), "ARP");
    EXPECT_EQ(name_of({NonIpNumber::kHdlcEtherType, 0x0806}), "ARP");
    EXPECT_EQ(name_of({NonIpNumber::kHdlcEtherType, 0}), "");
    EXPECT_EQ(name_of({NonIpNumber::kPpp, 0xC021}), "LCP");
    EXPECT_EQ(name_of({NonIpNumber::kEtherType, 0xC021}), "");
    EXPECT_EQ(name_of({NonIpNumber::kWifiType, 1}), "control");
    EXPECT_EQ(name_of({NonIpNumber::kFamily, 7}), "");
}

}  // namespace
}  // namespace unecho::packet
