// SPDX-License-Identifier: BSD-3-Clause
#include "packet/key.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <tuple>

#include "base/assert.h"
#include "base/ids.h"
#include "base/int128.h"
#include "hash/keyed.h"
#include "packet/non_ip.h"
#include "packet/parse.h"

namespace unecho::packet {
namespace {

using hash::keyed_digest;
using hash::Secret;

enum class Outcome : std::uint8_t { kKeyed, kNonIp, kMalformed };

constexpr std::uint64_t high_half(uint128 value) noexcept {
    return static_cast<std::uint64_t>(value >> 64);
}

constexpr std::uint64_t low_half(uint128 value) noexcept {
    return static_cast<std::uint64_t>(value);
}

// What a digest of flow fields is for. The two must be independent: if the owner were chosen by the
// flow's own digest, each worker would see only its share of the digests' range, and its filter
// would fill a part of its memory only.
enum class Purpose : std::uint8_t { kKey, kOwner };

constexpr Outcome outcome_of(Found found) noexcept {
    return found == Found::kNonIp ? Outcome::kNonIp : Outcome::kMalformed;
}

// The key of packet mode is a head of 8 bytes and all of the packet behind the last masked byte.
// IPv4: the head is version/IHL, protocol (in the place of TOS), total length, ID, flags and
// offset. TTL (byte 8) and checksum (10, 11) are left out; the addresses begin the body.
constexpr std::uint32_t kIpv4Body = 12;

std::uint64_t ipv4_head(const std::uint8_t* p) noexcept {
    return (load_le64(p) & 0xFFFF'FFFF'FFFF'00FF) | std::uint64_t{p[9]} << 8;
}

// IPv6: version, flow label, payload length, next header; traffic class (4 bits in each of the
// first two bytes) and hop limit (byte 7) zeroed. The first byte tells the two versions apart.
constexpr std::uint32_t kIpv6Body = 8;

std::uint64_t ipv6_head(const std::uint8_t* p) noexcept {
    return load_le64(p) & 0x00FF'FFFF'FFFF'0FF0;
}

// Without a branch: the packets of a conversation go either way, so one would often be guessed
// wrong.
template <typename T>
void swap_if(bool condition, T& a, T& b) noexcept {
    const T difference = (a ^ b) & -T{condition};
    a ^= difference;
    b ^= difference;
}

constexpr std::uint64_t kind_of(const FlowFields& flow, Purpose purpose) noexcept {
    return flow.protocol | static_cast<std::uint64_t>(purpose) << 8;
}

// 16 bytes: source address and port, destination address and port, each 48 bits; protocol and
// purpose fill the second word.
template <bool kBothWays, Purpose kPurpose>
Digest flow_digest_ipv4(const FlowFields& flow, const Secret& secret) noexcept {
    std::uint64_t from = std::uint64_t{load_be32(flow.addresses)} << 16 | flow.source_port;
    std::uint64_t to = std::uint64_t{load_be32(flow.addresses + 4)} << 16 | flow.destination_port;
    if constexpr (kBothWays) {
        swap_if(to < from, from, to);
    }
    return keyed_digest(std::array{from, to | kind_of(flow, kPurpose) << 48}, secret);
}

// 40 bytes: the addresses, then ports, protocol and purpose in one word.
template <bool kBothWays, Purpose kPurpose>
Digest flow_digest_ipv6(const FlowFields& flow, const Secret& secret) noexcept {
    uint128 from = load_be128(flow.addresses);
    uint128 to = load_be128(flow.addresses + 16);
    std::uint64_t from_port = flow.source_port;
    std::uint64_t to_port = flow.destination_port;
    if constexpr (kBothWays) {
        const bool swap = (to < from) | ((to == from) & (to_port < from_port));
        swap_if(swap, from, to);
        swap_if(swap, from_port, to_port);
    }
    return keyed_digest(std::array{high_half(from), low_half(from), high_half(to), low_half(to),
                                   from_port | to_port << 16 | kind_of(flow, kPurpose) << 32},
                        secret);
}

Digest packet_digest_ipv4(const IpPacket& ip, const Secret& secret) noexcept {
    return keyed_digest(ipv4_head(ip.data), ip.data + kIpv4Body, ip.length - kIpv4Body, secret);
}

template <KeyMode kMode>
Outcome digest_ip(Found found, const IpPacket& ip, const Secret& secret, Digest& digest) noexcept {
    if constexpr (kMode == KeyMode::kPacket) {
        const bool v4 = found == Found::kIpv4;
        const std::uint64_t head = v4 ? ipv4_head(ip.data) : ipv6_head(ip.data);
        const std::uint32_t skip = v4 ? kIpv4Body : kIpv6Body;
        digest = keyed_digest(head, ip.data + skip, ip.length - skip, secret);
        return Outcome::kKeyed;
    } else {
        constexpr bool kBothWays = kMode == KeyMode::kFlowBidir;
        FlowFields flow;
        if (found == Found::kIpv4) {
            if (!read_flow_ipv4(ip, flow)) {
                return Outcome::kMalformed;
            }
            digest = flow_digest_ipv4<kBothWays, Purpose::kKey>(flow, secret);
        } else {
            if (!read_flow_ipv6(ip, flow)) {
                return Outcome::kMalformed;
            }
            digest = flow_digest_ipv6<kBothWays, Purpose::kKey>(flow, secret);
        }
        return Outcome::kKeyed;
    }
}

// Where an IP packet lies in a frame. Ethernet is compiled into its loop, which is the live packet
// path; the others, of captures, share one loop that asks for each frame.
struct InEthernet {
    Found operator()(const Frame& frame, IpPacket& ip) const noexcept {
        return find_ip(frame.data, frame.length, ip);
    }
    static bool plain_ipv4(const Frame& frame, IpPacket& ip) noexcept {
        return find_plain_ipv4(frame.data, frame.length, ip);
    }
};

struct InLink {
    Found operator()(const Frame& frame, IpPacket& ip) const noexcept {
        return find_ip(link, frame.data, frame.length, ip);
    }
    static bool plain_ipv4(const Frame& /*frame*/, IpPacket& /*ip*/) noexcept { return false; }
    Link link;
};

template <KeyMode kMode, typename Find>
Outcome digest_frame(const Frame& frame, Find find, const Secret& secret, Digest& digest) noexcept {
    IpPacket ip;
    const Found found = find(frame, ip);
    if (found != Found::kIpv4 && found != Found::kIpv6) {
        return outcome_of(found);
    }
    return digest_ip<kMode>(found, ip, secret, digest);
}

// Not inline, so that the loop over plain packets keeps its registers.
template <typename Find>
[[gnu::noinline]] Outcome digest_other_packet(const Frame& frame, Find find, const Secret& secret,
                                              Digest& digest) noexcept {
    return digest_frame<KeyMode::kPacket>(frame, find, secret, digest);
}

template <typename Find>
Outcome digest_packet(const Frame& frame, Find find, const Secret& secret,
                      Digest& digest) noexcept {
    IpPacket ip;
    if (!find.plain_ipv4(frame, ip)) {
        return digest_other_packet(frame, find, secret, digest);
    }
    digest = packet_digest_ipv4(ip, secret);
    return Outcome::kKeyed;
}

// Two heads, of 64 bits each: destination and type, source and what the digest is for. An owner is
// the same for all that a station sends to another, so neither the body nor a length counts.
template <Purpose kPurpose>
Digest non_ip_digest(NonIpFrame other, const Secret& secret) noexcept {
    if constexpr (kPurpose == Purpose::kOwner) {
        other.type = is_length(other.type) ? 0 : other.type;
        other.length = 0;
    }
    const auto kind =
        static_cast<std::uint64_t>(other.kind) << 1 | static_cast<std::uint64_t>(kPurpose);
    return keyed_digest(other.destination << 16 | other.type, other.source | kind << 48, other.body,
                        other.length, secret);
}

constexpr std::uint64_t mask_of(std::size_t frames) noexcept {
    return frames == 0 ? 0 : ~std::uint64_t{0} >> (kMaxBurst - frames);
}

template <KeyMode kMode, typename Find>
KeyMasks digest_packets(std::span<const Frame> frames, Find find, const Secret& secret,
                        Digest* digests) noexcept {
    KeyMasks masks;
    for (std::size_t i = 0; i < frames.size(); ++i) {
        Outcome outcome = Outcome::kKeyed;
        if constexpr (kMode == KeyMode::kPacket) {
            outcome = digest_packet(frames[i], find, secret, digests[i]);
        } else {
            outcome = digest_frame<kMode>(frames[i], find, secret, digests[i]);
        }
        if (outcome != Outcome::kKeyed) [[unlikely]] {
            (outcome == Outcome::kNonIp ? masks.non_ip : masks.malformed) |= std::uint64_t{1} << i;
        }
    }
    masks.keyed = mask_of(frames.size()) & ~(masks.non_ip | masks.malformed);
    return masks;
}

KeyMasks digest_frames(std::span<const Frame> frames, const Secret& secret,
                       Digest* digests) noexcept {
    for (std::size_t i = 0; i < frames.size(); ++i) {
        digests[i] = keyed_digest(frames[i].data, frames[i].length, secret);
    }
    return {.keyed = mask_of(frames.size())};
}

template <typename Find>
KeyMasks digest_in(KeyMode mode, std::span<const Frame> frames, Find find, const Secret& secret,
                   Digest* digests) noexcept {
    switch (mode) {
        case KeyMode::kPacket:
            return digest_packets<KeyMode::kPacket>(frames, find, secret, digests);
        case KeyMode::kFlow:
            return digest_packets<KeyMode::kFlow>(frames, find, secret, digests);
        case KeyMode::kFlowBidir:
            return digest_packets<KeyMode::kFlowBidir>(frames, find, secret, digests);
        case KeyMode::kFrame:
            return digest_frames(frames, secret, digests);
    }
    return {};
}

}  // namespace

std::string_view name_of(KeyMode mode) noexcept {
    static constexpr std::array<std::string_view, kKeyModes> kNames{"packet", "flow", "flow-bidir",
                                                                    "frame"};
    return kNames[static_cast<std::size_t>(mode)];
}

KeyMasks digest_burst(KeyMode mode, Link link, std::span<const Frame> frames, const Secret& secret,
                      Digest* digests) noexcept {
    UNECHO_ASSERT(frames.size() <= kMaxBurst);
    if (link == Link::kEthernet) {
        return digest_in(mode, frames, InEthernet{}, secret, digests);
    }
    return digest_in(mode, frames, InLink{link}, secret, digests);
}

void digest_non_ip(Link link, std::span<const Frame> frames, const Secret& secret, Digest* digests,
                   KeyMasks& masks) noexcept {
    for (std::uint64_t rest = masks.non_ip; rest != 0; rest &= rest - 1) {
        const auto i = static_cast<std::size_t>(std::countr_zero(rest));
        const NonIpFrame other = non_ip_frame(link, frames[i].data, frames[i].length);
        if (other.compared) {
            digests[i] = non_ip_digest<Purpose::kKey>(other, secret);
            masks.keyed |= std::uint64_t{1} << i;
        }
    }
    masks.non_ip &= ~masks.keyed;
}

// Of an IP packet only what every mode's key contains may be used: addresses, protocol and ports,
// as far as they were captured. Never its offset, its TTL or the frame's length.
Digest owner_digest(Link link, const Frame& frame, const Secret& secret) noexcept {
    IpPacket ip;
    FlowFields flow;
    switch (find_ip(link, frame.data, frame.length, ip)) {
        case Found::kIpv4:
            std::ignore = read_flow_ipv4(ip, flow);  // cut short: ports 0
            return flow_digest_ipv4<true, Purpose::kOwner>(flow, secret);
        case Found::kIpv6:
            std::ignore = read_flow_ipv6(ip, flow);
            return flow_digest_ipv6<true, Purpose::kOwner>(flow, secret);
        case Found::kNonIp:
            return non_ip_digest<Purpose::kOwner>(non_ip_frame(link, frame.data, frame.length),
                                                  secret);
        case Found::kMalformed:
            break;
    }
    return keyed_digest(static_cast<std::uint64_t>(Purpose::kOwner), frame.data,
                        std::min(frame.length, kEthernetHeader), secret);
}

}  // namespace unecho::packet
