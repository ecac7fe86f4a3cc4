// SPDX-License-Identifier: BSD-3-Clause
// Digests of keys (key.h), and digests that decide which worker owns a packet. Both use what stage
// parse found (parse.h); nothing here looks for an IP packet.
//
// Hot code: knows bytes, no mbufs; reads inside the bounds that parse gave, writes nothing.
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

// Increase it when a packet's digest under a given secret changes: it makes older records useless.
inline constexpr unsigned kDigestVersion = 2;

// Three disjoint masks that name every frame of a burst. Frames without a key are forwarded.
struct KeyMasks {
    std::uint64_t keyed = 0;
    std::uint64_t non_ip = 0;     // ARP, LLDP, 802.3, unknown EtherTypes, kUnknown
    std::uint64_t malformed = 0;  // truncated or contradictory in a header that the key needs
};

// Set digests[i] for every keyed frame. parsed: the result for these frames, at most kMaxBurst.
KeyMasks digest_burst(KeyMode mode, std::span<const Frame> frames, const ParsedBurst& parsed,
                      const hash::Secret& secret, Digest* digests) noexcept;

// Compute keys of mode flow-bidir and directions: bit i of `turned` is set if packet i comes from
// the end that the key names second. The two together separate flows as mode flow does.
KeyMasks digest_both_ways(const ParsedBurst& parsed, const hash::Secret& secret, Digest* digests,
                          std::uint64_t& turned) noexcept;

// Replace the digests of packets in `keyed` whose TCP, UDP or SCTP checksum is still a partial sum.
// The new digest is that of the packet with the checksum filled in. Mode packet only; call it
// before anything is added to the digests.
void fill_checksums(std::span<const Frame> frames, const ParsedBurst& parsed, std::uint64_t keyed,
                    const hash::Secret& secret, Digest* digests) noexcept;

// Add tenants to the digests of opened packets in `keyed`. Keys of both directions leave out
// identifiers of one direction.
void add_tenants(KeyMode mode, const DecapsulatedBurst& opened, std::uint64_t keyed,
                 const hash::Secret& secret, Digest* digests) noexcept;

// Return a digest of the frame's networks (visit_networks()), or 0 if it has none. Frame Relay and
// link types without an EtherType have none.
[[nodiscard]] Digest tags_digest(LinkType link, const Frame& frame,
                                 const hash::Secret& secret) noexcept;

// Add the networks to the digests of frames in `keyed`, if the key includes tags. For packets
// inside tunnels these are the networks of the innermost Ethernet frame, if there is one.
void add_tags(const KeySpec& key, LinkType link, std::span<const Frame> frames,
              const ParsedBurst& parsed, const DecapsulatedBurst& opened, std::uint64_t keyed,
              const hash::Secret& secret, Digest* digests) noexcept;

// Compute keys of mode frame, for at most kMaxBurst frames.
void digest_frames(std::span<const Frame> frames, const hash::Secret& secret,
                   Digest* digests) noexcept;

// Compute digests that only serve to compare frames with each other. They differ from those above.
// They are equal exactly if the frames are, with the same certainty. packets: digests of mode
// packet, so that only the other bytes of frames with an IP packet are read.
void digest_frames(std::span<const Frame> frames, const ParsedBurst& parsed, const Digest* packets,
                   const hash::Secret& secret, Digest* digests) noexcept;

// Compute the digests of frames in masks.non_ip, and move these to masks.keyed. 802.11 frames in
// which nothing distinguishes a copy from a repeat stay. Pass the frames of digest_burst().
void digest_non_ip(LinkType link, std::span<const Frame> frames, const hash::Secret& secret,
                   Digest* digests, KeyMasks& masks) noexcept;

// Write the bytes from which a frame's digest is made, as far as they fit, and return their number.
// The frame must have a key. tenant: none unless it is part of the key.
std::size_t copy_key(const KeySpec& key, LinkType link, const Frame& frame, const Parsed& parsed,
                     const TenantId& tenant, bool opened, std::span<std::uint8_t> out) noexcept;

// Set owners[i], which decides the worker that owns frame i. It is equal for both directions of a
// flow, and for all copies of a packet in any key mode, so copies meet and flows stay in order.
// Frames without an IP packet go by MAC addresses and innermost EtherType, which keeps the order
// from one station to another; malformed ones by their first 14 bytes.
void owner_digests(LinkType link, std::span<const Frame> frames, const ParsedBurst& parsed,
                   const hash::Secret& secret, Digest* owners) noexcept;

}  // namespace unecho::packet
