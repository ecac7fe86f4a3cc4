// SPDX-License-Identifier: BSD-3-Clause
// Digests of what makes packets the same (key.h), and of what decides who owns them, from what
// stage parse found (parse.h): nothing here looks for an IP packet.
//
// Hot code: bytes only (no mbufs), inside the bounds that parse gave, nothing written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "filters/hash/digest.h"
#include "filters/hash/secret.h"
#include "packets/keys/key.h"
#include "packets/keys/key_spec.h"
#include "packets/parse.h"
#include "packets/tunnels/tunnels.h"

namespace unecho::packet {

// Raised when the digest of some packet under some secret becomes another one: what was recorded by
// another version means nothing.
inline constexpr unsigned kDigestVersion = 2;

// Three disjoint masks over a burst; together they name every frame of it. Frames without a key are
// forwarded: nothing is known of them.
struct KeyMasks {
    std::uint64_t keyed = 0;
    std::uint64_t non_ip = 0;     // ARP, LLDP, 802.3, unknown EtherTypes, kUnknown
    std::uint64_t malformed = 0;  // cut short or contradictory in a header that the key needs
};

// digests[i] is set for every keyed frame. parsed: of these frames, at most kMaxBurst.
KeyMasks digest_burst(KeyMode mode, std::span<const Frame> frames, const ParsedBurst& parsed,
                      const hash::Secret& secret, Digest* digests) noexcept;

// The keys of mode flow-bidir, and which way each packet goes: bit i of turned, from the end that
// the key names second. The two together tell flows apart as keys of mode flow do.
KeyMasks digest_both_ways(const ParsedBurst& parsed, const hash::Secret& secret, Digest* digests,
                          std::uint64_t& turned) noexcept;

// Gives packets of mode packet whose checksum of TCP, UDP or SCTP is a partial sum the digest that
// they have with it filled in, of those of `keyed`. Before any other part is added.
void fill_checksums(std::span<const Frame> frames, const ParsedBurst& parsed, std::uint64_t keyed,
                    const hash::Secret& secret, Digest* digests) noexcept;

// Makes the tenants of opened packets part of their digests, of those of `keyed`; but no identifier
// of one direction in keys of both.
void add_tenants(KeyMode mode, const DecapsulatedBurst& opened, std::uint64_t keyed,
                 const hash::Secret& secret, Digest* digests) noexcept;

// Return a digest of the networks that the frame's packet, or what it holds instead, is in
// (visit_networks()); 0: none. Of Frame Relay, of what has no EtherType: none.
[[nodiscard]] Digest tags_digest(LinkType link, const Frame& frame,
                                 const hash::Secret& secret) noexcept;

// Make these part of the digests of those of `keyed`, where the key wants it. Of a packet inside
// tunnels those of the innermost Ethernet frame count, if it is in one.
void add_tags(const KeySpec& key, LinkType link, std::span<const Frame> frames,
              const ParsedBurst& parsed, const DecapsulatedBurst& opened, std::uint64_t keyed,
              const hash::Secret& secret, Digest* digests) noexcept;

// Of every captured byte of at most kMaxBurst frames: the keys of mode frame.
void digest_frames(std::span<const Frame> frames, const hash::Secret& secret,
                   Digest* digests) noexcept;

// For who compares frames with each other alone: others than those above, and equal where frames
// are, as surely. packets: of the frames with an IP packet their keys of mode packet, so that of
// these only the other bytes are read.
void digest_frames(std::span<const Frame> frames, const ParsedBurst& parsed, const Digest* packets,
                   const hash::Secret& secret, Digest* digests) noexcept;

// Gives those of masks.non_ip their own digests, and moves them to masks.keyed; but for frames of
// 802.11 that nothing tells from the same once more. Of the same frames as digest_burst had before.
void digest_non_ip(LinkType link, std::span<const Frame> frames, const hash::Secret& secret,
                   Digest* digests, KeyMasks& masks) noexcept;

// The bytes of the key of one keyed frame that digests are made of, so many as fit; how many.
// tenant: where it is part of the key, else none.
std::size_t copy_key(const KeySpec& key, LinkType link, const Frame& frame, const Parsed& parsed,
                     const TenantId& tenant, bool opened, std::span<std::uint8_t> out) noexcept;

// Decide which worker owns a frame: equal for both directions of a flow and for all copies of a
// packet that any key mode finds, so that copies meet and a flow keeps its order. Frames without an
// IP packet: by their MAC addresses and innermost EtherType, which keeps the order of what one
// station sends to another. Malformed ones: by their first 14 bytes. owners[i] is set for each.
void owner_digests(LinkType link, std::span<const Frame> frames, const ParsedBurst& parsed,
                   const hash::Secret& secret, Digest* owners) noexcept;

}  // namespace unecho::packet
