// SPDX-License-Identifier: BSD-3-Clause
// Causes: how an echo differs from its original. 16 bytes are kept of the original, and as many of
// what surrounds a packet inside tunnels. For reports and audits.
//
// Hot code: reads only bytes inside the frame.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "filters/hash/secret.h"
#include "packets/frame.h"
#include "packets/link.h"
#include "packets/parse.h"
#include "packets/tunnels/tunnels.h"

namespace unecho::packet {

// The one reason why an echo is not, byte for byte, the first packet with its key. Each echo has
// exactly one cause, the first in this order that holds.
enum class Cause : std::uint8_t {
    kLoop,       // it came back with a lower TTL, at least for the second time
    kTunnelled,  // one of the two is plain, or in tunnels of another kind
    kTunnels,    // same kinds of tunnels, but other ends or another tenant
    kRouted,     // TTL or hop limit and MAC addresses differ
    kHopLimit,   // TTL or hop limit differs; MAC addresses do not, or there are none
    kRetagged,   // VLAN tags, MPLS labels or other bytes between MACs and IP differ
    kRelayed,    // only MAC addresses or the cooked header differ
    kResent,     // 802.11: the retry bit or the sender's frame number differs
    kRemarked,   // TOS or traffic class differs
    kPadded,     // bytes behind the IP packet, or the captured length, differ
    kChecksum,   // only the IPv4 header checksum, or one that a card fills in later, differs
    kOuter,      // only outer headers of the same tunnel differ
    kIdentical,  // nothing differs
};

// Indexed by Cause.
inline constexpr std::array<std::string_view, 13> kCauseNames{
    "loop",   "tunnelled", "tunnels", "routed",   "hop-limit", "retagged", "relayed",
    "resent", "remarked",  "padded",  "checksum", "outer",     "identical"};
static_assert(static_cast<std::size_t>(Cause::kIdentical) + 1 == kCauseNames.size());

[[nodiscard]] constexpr std::string_view name_of(Cause cause) noexcept {
    return kCauseNames[static_cast<std::size_t>(cause)];
}

// Differences are counted separately: an echo may have several, or none.
enum class Difference : std::uint8_t {
    kHopLimit,
    kMacs,
    kTags,
    kTos,
    kPadding,
    kChecksum,
    kRetry,          // 802.11
    kNumber,         // 802.11: sequence control
    kEncapsulation,  // kinds of tunnels around the packet
    kTunnel,         // their ends or tenants
    kOuter,          // the outermost packet
};

// Everything of a frame that is not in its packet key. Parts of more than two bytes are 32-bit
// hashes; different values have the same hash once in 4 billion.
struct FrameTraits {
    std::uint32_t macs = 0;  // MAC addresses, or the cooked header without its protocol field
    std::uint32_t tags = 0;  // other bytes before the IP packet; 0: none
    // Bytes behind the IP packet, 0: none. For 802.11 an air_mark().
    std::uint32_t padding = 0;
    std::uint16_t checksum = 0;  // of IPv4; altered if the next one is yet to be filled in
    std::uint8_t ttl = 0;        // or hop limit
    std::uint8_t tos = 0;        // or traffic class
};

// Return a mark of an 802.11 frame: the sender's frame number and the retry bit. It is even and not
// 0, unlike the hashes above.
[[nodiscard]] constexpr std::uint32_t air_mark(std::uint16_t sequence, bool retry) noexcept {
    return 0x8000'0000U | std::uint32_t{sequence} << 2U | (retry ? 2U : 0U);
}
// Return true if FrameTraits::padding is an air_mark() with the retry bit. Hashes are odd, so other
// padding is never mistaken for a mark.
[[nodiscard]] constexpr bool is_retry(std::uint32_t padding) noexcept {
    return (padding & 3U) == 2U;
}

// Hashes of what surrounds a packet inside tunnels; the path is a TunnelPath.
struct TunnelTraits {
    std::uint32_t path = 0;    // 0: a plain packet
    std::uint32_t tunnel = 0;  // ends and identifiers of the tunnels
    std::uint32_t tenant = 0;  // 0: none
    std::uint32_t outer = 0;   // the key of the outermost packet
};

// Bit i: Difference i.
using Differences = std::uint16_t;

[[nodiscard]] constexpr bool has(Differences differences, Difference one) noexcept {
    return (differences >> static_cast<unsigned>(one) & 1U) != 0;
}

// kChecksum is set only if nothing else explains it: the checksum covers TTL and TOS.
[[nodiscard]] Differences differences_of(const FrameTraits& original,
                                         const FrameTraits& echo) noexcept;

[[nodiscard]] Differences differences_of(const TunnelTraits& original,
                                         const TunnelTraits& echo) noexcept;

// Return the cause, but never kLoop, which a single packet does not show.
[[nodiscard]] Cause cause_of(Differences differences) noexcept;

// The encapsulations around a packet, five bits each, the outermost in the highest; 0: none. Of
// more than six, the innermost six.
using TunnelPath = std::uint32_t;
inline constexpr unsigned kPathBits = 5;
inline constexpr unsigned kPathLevels = 6;
inline constexpr TunnelPath kPathMask = (1U << kPathBits) - 1;  // of one
static_assert(kEncapsulations.size() <= kPathMask);

[[nodiscard]] TunnelPath path_of(const DecapsulatedLevels& way) noexcept;
[[nodiscard]] EncapsulationSet encapsulations_of(TunnelPath path) noexcept;

// Return a hash of the ends and identifiers of all tunnels around a packet.
[[nodiscard]] std::uint32_t tunnel_of(const DecapsulatedLevels& way,
                                      const Parsed& outermost) noexcept;

// Return a hash of the innermost identifier, or 0 if there is none.
[[nodiscard]] std::uint32_t tenant_mark(const TenantId& tenant) noexcept;

// parsed: the result of stage parse for this frame.
[[nodiscard]] FrameTraits frame_traits(LinkType link, const Frame& frame, const Parsed& parsed,
                                       const hash::Secret& secret) noexcept;
// Likewise for a packet inside tunnels, with the frame, MAC addresses and padding inside.
[[nodiscard]] FrameTraits frame_traits_inside(const DecapsulatedLevel& level,
                                              const hash::Secret& secret) noexcept;

}  // namespace unecho::packet
