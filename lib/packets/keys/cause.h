// SPDX-License-Identifier: BSD-3-Clause
// Why an echo is not its original, byte for byte: from what is kept of the original, 16 bytes, and
// as many of what stands around a packet inside tunnels. For reports and audits.
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

// Why an echo is not, byte for byte, the first packet with its key: the one reason that stands for
// it in sums that must come to all echoes. Ordered: the first that holds.
enum class Cause : std::uint8_t {
    kLoop,       // it came back with a lower TTL, for at least the second time
    kTunnelled,  // one is plain or in tunnels of another kind
    kTunnels,    // in tunnels of the same kind, but with other ends or of another tenant
    kRouted,     // TTL or hop limit and MAC addresses differ
    kHopLimit,   // TTL or hop limit differs, the MAC addresses do not (or there are none)
    kRetagged,   // VLAN tags, MPLS labels or what else stands between MACs and IP differ
    kRelayed,    // MAC addresses or cooked header alone
    kResent,     // 802.11: the retry bit, or the number that the sender gave the frame
    kRemarked,   // TOS or traffic class
    kPadded,     // bytes behind the IP packet, or captured length
    kChecksum,   // nothing but the IPv4 header checksum, or one that a card fills in later
    kOuter,      // nothing of it, but headers of the same tunnel
    kIdentical,  // nothing: the same frame
};

// Indexed by Cause.
inline constexpr std::array<std::string_view, 13> kCauseNames{
    "loop",   "tunnelled", "tunnels", "routed",   "hop-limit", "retagged", "relayed",
    "resent", "remarked",  "padded",  "checksum", "outer",     "identical"};
static_assert(static_cast<std::size_t>(Cause::kIdentical) + 1 == kCauseNames.size());

[[nodiscard]] constexpr std::string_view name_of(Cause cause) noexcept {
    return kCauseNames[static_cast<std::size_t>(cause)];
}

// What differs, each counted alone: an echo may have several, or none.
enum class Difference : std::uint8_t {
    kHopLimit,
    kMacs,
    kTags,
    kTos,
    kPadding,
    kChecksum,
    kRetry,          // 802.11
    kNumber,         // 802.11: sequence control
    kEncapsulation,  // which tunnels it is in, if any
    kTunnel,         // their ends, or their tenant
    kOuter,          // the outermost packet
};

// Everything of a frame that is not in its packet key. Parts of more than a byte or two as 32-bit
// hashes: two of them are taken for equal wrongly once in 4 billion.
struct FrameTraits {
    std::uint32_t macs = 0;  // MAC addresses, or the cooked header but for what it says is in it
    std::uint32_t tags = 0;  // what else stands before the IP packet; 0: nothing
    // What stands behind the IP packet; 0: nothing. Of 802.11 what air_mark() makes.
    std::uint32_t padding = 0;
    std::uint16_t checksum = 0;  // IPv4 header; marked where the next one is not filled in yet
    std::uint8_t ttl = 0;        // or hop limit
    std::uint8_t tos = 0;        // or traffic class
};

// Of a frame of 802.11: which number its sender gave it, and whether it says that it was sent
// before. Even and not 0, as no hash above is.
[[nodiscard]] constexpr std::uint32_t air_mark(std::uint16_t sequence, bool retry) noexcept {
    return 0x8000'0000U | std::uint32_t{sequence} << 2U | (retry ? 2U : 0U);
}
// padding: of an FrameTraits. Hashes are odd, so what stands behind an IP packet is never taken for
// it.
[[nodiscard]] constexpr bool is_retry(std::uint32_t padding) noexcept {
    return (padding & 3U) == 2U;
}

// What stands around a packet that is inside tunnels; hashes but for the path (TunnelPath).
struct TunnelTraits {
    std::uint32_t path = 0;    // 0: a plain packet
    std::uint32_t tunnel = 0;  // its ends and identifiers
    std::uint32_t tenant = 0;  // 0: none
    std::uint32_t outer = 0;   // the key of the outermost packet
};

// Bit i: Difference i.
using Differences = std::uint16_t;

[[nodiscard]] constexpr bool has(Differences differences, Difference one) noexcept {
    return (differences >> static_cast<unsigned>(one) & 1U) != 0;
}

// kChecksum only where nothing explains it: TTL and TOS are under the checksum.
[[nodiscard]] Differences differences_of(const FrameTraits& original,
                                         const FrameTraits& echo) noexcept;

[[nodiscard]] Differences differences_of(const TunnelTraits& original,
                                         const TunnelTraits& echo) noexcept;

// But for loops, which no single packet tells.
[[nodiscard]] Cause cause_of(Differences differences) noexcept;

// The encapsulations around a packet, the outermost first: four bits each, the last one lowest. 0:
// none.
using TunnelPath = std::uint32_t;
inline constexpr unsigned kPathBits = 4;
static_assert(kEncapsulations.size() < 15 && kMaxLevels * 4 <= 32);

[[nodiscard]] TunnelPath path_of(const DecapsulatedLevels& way) noexcept;
[[nodiscard]] EncapsulationSet encapsulations_of(TunnelPath path) noexcept;

// Which tunnel it is: a hash of the ends and identifiers of all that it is in.
[[nodiscard]] std::uint32_t tunnel_of(const DecapsulatedLevels& way,
                                      const Parsed& outermost) noexcept;

// Of the innermost identifier; 0: none.
[[nodiscard]] std::uint32_t tenant_mark(const TenantId& tenant) noexcept;

// Of a frame; parsed: what stage parse found in it.
[[nodiscard]] FrameTraits frame_traits(LinkType link, const Frame& frame, const Parsed& parsed,
                                       const hash::Secret& secret) noexcept;
// The same of a packet inside tunnels: the frame, MAC addresses and padding are those inside.
[[nodiscard]] FrameTraits frame_traits_inside(const DecapsulatedLevel& level,
                                              const hash::Secret& secret) noexcept;

}  // namespace unecho::packet
