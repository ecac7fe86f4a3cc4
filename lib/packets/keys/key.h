// SPDX-License-Identifier: BSD-3-Clause
// What "the same packet" means. digests.h makes digests of it.
//
// Key modes (docs/glossary.md has the exact definition):
//   packet      the outermost IP packet; TOS/traffic class, TTL/hop limit and the IPv4 header
//               checksum masked; what stands before it and behind its IP length left out
//   flow        source, destination, protocol, ports of the outermost IP packet
//   flow-bidir  the same with the two ends in sorted order
//   frame       every captured byte
// Of a packet in tunnels that are looked into (tunnels.h) the innermost one counts, not the
// outermost. Frames without an IP packet have a key of their own where that is asked for (NonIp):
// MAC addresses, innermost EtherType, and what is behind it up to the length of 802.3 or padding.
// What stands in front counts where that is asked for (Tags).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace unecho::packet {

enum class KeyMode : std::uint8_t { kPacket, kFlow, kFlowBidir, kFrame };
inline constexpr std::array<std::string_view, 4> kKeyNames{"packet", "flow", "flow-bidir", "frame"};
inline constexpr unsigned kKeyModes = kKeyNames.size();

[[nodiscard]] constexpr std::string_view name_of(KeyMode mode) noexcept {
    return kKeyNames[static_cast<std::size_t>(mode)];
}

// Packets of a flow have the same key.
[[nodiscard]] constexpr bool is_flow(KeyMode mode) noexcept {
    return mode == KeyMode::kFlow || mode == KeyMode::kFlowBidir;
}

// What becomes of frames without an IP packet beside keys of IP packets.
enum class NonIp : std::uint8_t {
    kPass,   // they have no key
    kFrame,  // they are compared, without their tags, labels and padding
};

// Whether the identifier of the tunnel that a packet came through is part of its key.
enum class Tenant : std::uint8_t { kIgnore, kMatch };
inline constexpr std::array<std::string_view, 2> kTenantNames{"ignore", "match"};

// The bytes of a packet tell it from others, whatever tunnel its copy came through; a 5-tuple of
// another tenant is another flow.
[[nodiscard]] constexpr Tenant default_tenant(KeyMode mode) noexcept {
    return is_flow(mode) ? Tenant::kMatch : Tenant::kIgnore;
}

// Whether the networks that a packet was seen in are part of its key: its VLANs, MPLS labels, PPPoE
// sessions and ports of fabric extenders (tags.h).
enum class Tags : std::uint8_t {
    kIgnore,   // a copy from the other side of a trunk or of a label switch matches
    kCompare,  // equal packets in two VLANs are two packets
    kPoint,    // they are of the point where it was seen: brokers that tag by port (observation.h)
};
inline constexpr std::array<std::string_view, 3> kTagsNames{"ignore", "compare", "point"};

// What becomes of checksums of TCP, UDP and SCTP that a card has yet to fill in (checksums.h).
enum class Checksums : std::uint8_t {
    kAsTheyAre,  // frames of network cards were on a wire, and have them
    kFill,       // the packet counts as the card will send it
};

// Of a packet's bytes that count, where not all do (KeySpec): at least IPv4's shortest header.
inline constexpr std::uint32_t kMinKeyBytes = 20;
inline constexpr std::uint32_t kMaxKeyBytes = 9000;

}  // namespace unecho::packet
