// SPDX-License-Identifier: BSD-3-Clause
// Changes: what became of a packet between two points of its path. Unlike causes (cause.h) they
// have a direction, and a packet may have several.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "packets/keys/cause.h"

namespace unecho::packet {

enum class Change : std::uint8_t {
    kAddresses,  // recognised by their content only
    kTunnelAdded,
    kTunnelRemoved,
    kTunnelOther,
    kTagsAdded,
    kTagsRemoved,
    kTagsOther,
    kStations,  // MAC addresses
    kTtl,
    kDscp,
    kCongestion,  // ECN: marked on the way
    kEcn,         // ECN: otherwise changed
    kPadding,
    kChecksum,
};
inline constexpr std::array<std::string_view, 14> kChangeNames{
    "nat",        "tunnel_added", "tunnel_removed", "tunnel_changed",
    "tags_added", "tags_removed", "tags_changed",   "macs",
    "ttl",        "dscp",         "ecn_congested",  "ecn_changed",
    "padding",    "checksum"};
static_assert(static_cast<std::size_t>(Change::kChecksum) + 1 == kChangeNames.size());

// Bit i: Change i.
using Changes = std::uint16_t;

[[nodiscard]] constexpr Changes bit_of(Change one) noexcept {
    return static_cast<Changes>(1U << static_cast<unsigned>(one));
}

// A packet at one point.
struct PassingPacket {
    FrameTraits frame;
    std::uint32_t tunnel = 0;  // a hash of the tunnels around it; 0: none
};

// Return what changed on the way from one point to another. kChecksum is set only if neither TTL
// nor TOS explains it; kAddresses never, which traits do not show.
[[nodiscard]] Changes changes_between(const PassingPacket& from, const PassingPacket& to) noexcept;

}  // namespace unecho::packet
