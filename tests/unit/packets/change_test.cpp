// SPDX-License-Identifier: BSD-3-Clause
#include "packets/keys/change.h"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace unecho::packet {
namespace {

constexpr PassingPacket kPassing{
    .frame = {.macs = 11, .tags = 21, .padding = 31, .checksum = 41, .ttl = 64, .tos = 0b1011'0110},
    .tunnel = 51};

struct ChangeCase {
    const char* name;
    void (*apply)(PassingPacket& packet);
    std::vector<Change> there;
    std::vector<Change> back;  // the other way
};

Changes bits_of(const std::vector<Change>& changes) {
    Changes bits = 0;
    for (const Change change : changes) {
        bits |= bit_of(change);
    }
    return bits;
}

TEST(ChangesBetween, are_what_differs_and_in_which_direction) {
    const std::vector<ChangeCase> cases{
        {"nothing", [](PassingPacket&) {}, {}, {}},
        {"tunnel removed",
         [](PassingPacket& packet) { packet.tunnel = 0; },
         {Change::kTunnelRemoved},
         {Change::kTunnelAdded}},
        {"another tunnel",
         [](PassingPacket& packet) { packet.tunnel = 52; },
         {Change::kTunnelOther},
         {Change::kTunnelOther}},
        {"tags removed",
         [](PassingPacket& packet) { packet.frame.tags = 0; },
         {Change::kTagsRemoved},
         {Change::kTagsAdded}},
        {"other tags",
         [](PassingPacket& packet) { packet.frame.tags = 22; },
         {Change::kTagsOther},
         {Change::kTagsOther}},
        {"MAC addresses",
         [](PassingPacket& packet) { packet.frame.macs = 0; },
         {Change::kStations},
         {Change::kStations}},
        // The checksum follows TTL and TOS, which says nothing more.
        {"TTL",
         [](PassingPacket& packet) {
             packet.frame.ttl = 63;
             packet.frame.checksum = 42;
         },
         {Change::kTtl},
         {Change::kTtl}},
        {"DSCP, the lowest bit",
         [](PassingPacket& packet) {
             packet.frame.tos ^= 4;
             packet.frame.checksum = 42;
         },
         {Change::kDscp},
         {Change::kDscp}},
        {"DSCP, the highest bit",
         [](PassingPacket& packet) { packet.frame.tos ^= 128; },
         {Change::kDscp},
         {Change::kDscp}},
        {"congestion",
         [](PassingPacket& packet) { packet.frame.tos |= 3; },
         {Change::kCongestion},
         {Change::kEcn}},
        {"ECN",
         [](PassingPacket& packet) { packet.frame.tos ^= 3; },
         {Change::kEcn},
         {Change::kEcn}},
        {"ECN and DSCP",
         [](PassingPacket& packet) { packet.frame.tos ^= 7; },
         {Change::kEcn, Change::kDscp},
         {Change::kEcn, Change::kDscp}},
        {"padding",
         [](PassingPacket& packet) { packet.frame.padding = 0; },
         {Change::kPadding},
         {Change::kPadding}},
        {"checksum alone",
         [](PassingPacket& packet) { packet.frame.checksum = 42; },
         {Change::kChecksum},
         {Change::kChecksum}},
        {"all at once",
         [](PassingPacket& packet) {
             packet = {.frame = {.ttl = 60, .tos = 0b1011'0111}, .tunnel = 52};
         },
         {Change::kTunnelOther, Change::kTagsRemoved, Change::kStations, Change::kTtl,
          Change::kCongestion, Change::kPadding},
         {Change::kTunnelOther, Change::kTagsAdded, Change::kStations, Change::kTtl, Change::kEcn,
          Change::kPadding}},
    };
    Changes seen = 0;
    for (const ChangeCase& one : cases) {
        PassingPacket other = kPassing;
        one.apply(other);
        EXPECT_EQ(changes_between(kPassing, other), bits_of(one.there)) << one.name;
        EXPECT_EQ(changes_between(other, kPassing), bits_of(one.back)) << one.name;
        seen |= bits_of(one.there) | bits_of(one.back);
    }
    // All but the one that traits do not show.
    EXPECT_EQ(seen | bit_of(Change::kAddresses), (1U << kChangeNames.size()) - 1);
    EXPECT_EQ(seen & bit_of(Change::kAddresses), 0);
}

TEST(ChangeNames, are_of_one_change_each) {
    const std::set<std::string> names(kChangeNames.begin(), kChangeNames.end());
    EXPECT_EQ(names.size(), kChangeNames.size());
    EXPECT_EQ(kChangeNames[static_cast<std::size_t>(Change::kAddresses)], "nat");
    EXPECT_EQ(kChangeNames[static_cast<std::size_t>(Change::kTunnelRemoved)], "tunnel_removed");
    EXPECT_EQ(kChangeNames[static_cast<std::size_t>(Change::kStations)], "macs");
    EXPECT_EQ(kChangeNames[static_cast<std::size_t>(Change::kCongestion)], "ecn_congested");
    EXPECT_EQ(kChangeNames[static_cast<std::size_t>(Change::kChecksum)], "checksum");
}

}  // namespace
}  // namespace unecho::packet
