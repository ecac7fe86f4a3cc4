// SPDX-License-Identifier: BSD-3-Clause
// What "the same packet" means: from the captured bytes of a frame to its key's digest.
//
// Key modes (docs/glossary.md has the exact definition):
//   packet      the outermost IP packet; TOS/traffic class, TTL/hop limit and the IPv4 header
//               checksum masked; what stands before it and behind its IP length left out
//   flow        source, destination, protocol, ports of the outermost IP packet
//   flow-bidir  the same with the two ends in sorted order
//   frame       every captured byte
// Frames without an IP packet have a key of their own where that is asked for (NonIp): MAC
// addresses, innermost EtherType, and what is behind it up to the length of 802.3 or padding.
//
// Hot code: bytes only (no mbufs), bounds-checked, nothing written.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "hash/digest.h"
#include "hash/secret.h"
#include "packet/link.h"

namespace unecho::packet {

enum class KeyMode : std::uint8_t { kPacket, kFlow, kFlowBidir, kFrame };
inline constexpr unsigned kKeyModes = 4;

[[nodiscard]] std::string_view name_of(KeyMode mode) noexcept;

// What becomes of frames without an IP packet beside keys of IP packets.
enum class NonIp : std::uint8_t {
    kPass,   // they have no key
    kFrame,  // they are compared, without their tags, labels and padding
};

// A frame in contiguous memory, from the first byte of what its link type puts before IP.
struct Frame {
    const std::uint8_t* data;
    std::uint32_t length;
};

// Three disjoint masks over a burst; together they name every frame of it. Frames without a key are
// forwarded: nothing is known of them.
struct KeyMasks {
    std::uint64_t keyed = 0;
    std::uint64_t non_ip = 0;     // ARP, LLDP, 802.3, unknown EtherTypes, kUnknown
    std::uint64_t malformed = 0;  // cut short or contradictory in a header that the key needs
};

// digests[i] is set for every keyed frame. frames.size() <= kMaxBurst; all are of one link type.
KeyMasks digest_burst(KeyMode mode, Link link, std::span<const Frame> frames,
                      const hash::Secret& secret, Digest* digests) noexcept;

// Gives those of masks.non_ip their own digests, and moves them to masks.keyed; but for frames of
// 802.11 that nothing tells from the same once more. Of the same frames as digest_burst had before.
void digest_non_ip(Link link, std::span<const Frame> frames, const hash::Secret& secret,
                   Digest* digests, KeyMasks& masks) noexcept;

// Decides which worker owns a frame: equal for both directions of a flow and for all copies of a
// packet that any key mode finds, so that copies meet and a flow keeps its order. Frames without an
// IP packet: by their MAC addresses and innermost EtherType, which keeps the order of what one
// station sends to another. Malformed ones: by their first 14 bytes.
[[nodiscard]] Digest owner_digest(Link link, const Frame& frame,
                                  const hash::Secret& secret) noexcept;

}  // namespace unecho::packet
