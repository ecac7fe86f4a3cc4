// SPDX-License-Identifier: BSD-3-Clause
// Keys: what "the same packet" means. digests.h makes digests of them.
//
// Key modes (docs/glossary.md has the exact definitions):
//   packet      the outermost IP packet with TOS/traffic class, TTL/hop limit and the IPv4 header
//               checksum masked, without what precedes it and what follows its IP length
//   flow        source, destination, protocol, ports of the outermost IP packet
//   flow-bidir  the same with the two ends in sorted order
//   frame       every captured byte
// If a packet's tunnels are opened (tunnels/tunnels.h), its innermost packet takes the place of the
// outermost. On request (NonIp), frames without an IP packet have a key too: MAC addresses,
// innermost EtherType, and the payload without padding. On request (Tags), the networks in front of
// the packet count too.
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

// Return true if all packets of a flow have the same key.
[[nodiscard]] constexpr bool is_flow(KeyMode mode) noexcept {
    return mode == KeyMode::kFlow || mode == KeyMode::kFlowBidir;
}

// Handling of frames without an IP packet, if keys are those of IP packets.
enum class NonIp : std::uint8_t {
    kPass,   // no key: forwarded
    kFrame,  // compared, without tags, labels and padding
};

// Use of a tunnel's identifier in the keys of packets inside it.
enum class Tenant : std::uint8_t { kIgnore, kMatch };
inline constexpr std::array<std::string_view, 2> kTenantNames{"ignore", "match"};

// The bytes of a packet identify it, whichever tunnel its copy came through. But an equal 5-tuple
// of another tenant is another flow.
[[nodiscard]] constexpr Tenant default_tenant(KeyMode mode) noexcept {
    return is_flow(mode) ? Tenant::kMatch : Tenant::kIgnore;
}

// Use of a packet's networks in its key: VLANs, MPLS labels, PPPoE sessions and others (tags.h).
enum class Tags : std::uint8_t {
    kIgnore,   // a copy from the other side of a trunk or label switch matches
    kCompare,  // equal packets in two VLANs are two packets
    kPoint,    // part of the point of observation: brokers that tag by port (observation.h)
};
inline constexpr std::array<std::string_view, 3> kTagsNames{"ignore", "compare", "point"};

// Handling of TCP, UDP and SCTP checksums that a card has yet to fill in (checksums.h).
enum class Checksums : std::uint8_t {
    kAsTheyAre,  // frames from network cards were on a wire, so theirs are complete
    kFill,       // compare the packet as the card will send it
};

// Limits of the number of bytes that count (KeySpec). The least is IPv4's shortest header.
inline constexpr std::uint32_t kMinKeyBytes = 20;
inline constexpr std::uint32_t kMaxKeyBytes = 9000;

}  // namespace unecho::packet
