// SPDX-License-Identifier: BSD-3-Clause
// Packets that identify their transmission, and points of observation where packets were seen. The
// union rule (filters/repeats/union_rule.h) combines the two.
//
// Identified are IPv4 packets with an ID above 1, and all fragments. IPv6 packets have no ID. IPv4
// packets that must not be fragmented may have 0 (RFC 6864); some programs always write 1.
//
// Hot code: reads only bytes inside the frame, writes nothing to it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/int128.h"
#include "filters/hash/secret.h"
#include "packets/frame.h"
#include "packets/link.h"
#include "packets/parse.h"
#include "packets/tunnels/tunnels.h"

namespace unecho::packet {

// Handling of equal packets that do not identify their transmission.
enum class Repeats : std::uint8_t {
    kDrop,  // treat all except the first within the window as copies
    kKeep,  // distinguish copies from repeats by the union rule
};
inline constexpr std::array<std::string_view, 2> kRepeatsNames{"drop", "keep"};

// The parts of a point of observation, in addition to the port's group.
enum class Point : std::uint8_t {
    kPort,     // nothing
    kLink,     // MAC addresses or the cooked header; without these, TTL or hop
               // limit. Of an opened tunnel also its ends and identifier.
    kLinkTtl,  // the same, and TTL or hop limit in any case
};
inline constexpr std::array<std::string_view, 3> kPointNames{"port", "link", "link-ttl"};

// The second looks of a point at a packet, within same_port, that are copies.
enum class SecondLooks : std::uint8_t {
    kDoubled,  // those of populations known to be mirrored twice (filters/repeats/union_rule.h)
    kAll,
};
inline constexpr std::array<std::string_view, 2> kSecondLooksNames{"doubled", "all"};

// Return true if a bounded packet is identified.
[[nodiscard]] inline bool is_identified_ipv4(const IpPacket& ip) noexcept {
    return load_be16(ip.data + 4) > 1 || (load_be16(ip.data + 6) & 0x3FFF) != 0;
}
[[nodiscard]] inline bool is_identified_ipv6(const IpPacket& ip) noexcept {
    const std::uint8_t next = ip.data[6];
    return next != kProtoTcp && next != kProtoUdp && upper_of_ipv6(ip).fragment;
}

// Return a mask: bit i is set if packet i of the burst is identified.
[[nodiscard]] std::uint64_t identified(const ParsedBurst& parsed) noexcept;

// The place where a packet was seen, as hashes under the secret.
struct ObservationPoint {
    std::uint64_t link = 0;  // link addresses (else TTL), and the opened tunnel
    std::uint64_t pair = 0;  // the same without TTL: the pair of stations
    std::uint32_t tags = 0;  // VLAN tags, MPLS labels and the like before the IP packet; 0: none
    std::uint8_t ttl = 0;    // or hop limit; 0 without a packet

    bool operator==(const ObservationPoint&) const = default;
};

[[nodiscard]] inline std::uint8_t hop_limit_of(const Parsed& parsed) noexcept {
    return parsed.found == L3Type::kIpv4   ? parsed.ip.data[8]
           : parsed.found == L3Type::kIpv6 ? parsed.ip.data[7]
                                           : std::uint8_t{0};
}

// Return a single tag itself, or a hash of several; 0 if there is none.
[[nodiscard]] std::uint32_t tags_mark(const std::uint8_t* tags, std::uint32_t length,
                                      const hash::Secret& secret) noexcept;

inline constexpr std::uint32_t kMacAddresses = 12;

// For an Ethernet frame with both MAC addresses. Hashes with the secret's words for second heads.
[[nodiscard]] inline ObservationPoint observation_point_in_ethernet(
    const Frame& frame, const Parsed& parsed, const hash::Secret& secret) noexcept {
    const std::uint64_t first = load_le32(frame.data) | std::uint64_t{load_le32(frame.data + 4)}
                                                            << 32;
    const std::uint64_t last = load_le32(frame.data + 8);
    const uint128 product = uint128{first + secret.second[0]} * (last + secret.second[1]);
    ObservationPoint out;
    out.pair = static_cast<std::uint64_t>(product >> 64) ^ static_cast<std::uint64_t>(product);
    out.link = out.pair;
    out.ttl = hop_limit_of(parsed);
    if (parsed.found == L3Type::kIpv4 || parsed.found == L3Type::kIpv6) {
        const auto ip = static_cast<std::uint32_t>(parsed.ip.data - frame.data);
        if (ip > kEthernetHeader) [[unlikely]] {
            constexpr std::uint32_t kTags = kEthernetHeader - 2;
            out.tags = tags_mark(frame.data + kTags, ip - 2 - kTags, secret);
        }
    }
    return out;
}

// Return where a frame was seen. parsed: the packet found in it, innermost if tunnels are opened.
[[nodiscard]] ObservationPoint observation_point_of(LinkType link, const Frame& frame,
                                                    const Parsed& parsed,
                                                    const hash::Secret& secret) noexcept;
[[nodiscard]] ObservationPoint observation_point_inside(const Tunnels& tunnels, LinkType link,
                                                        const Frame& frame, const Parsed& innermost,
                                                        const hash::Secret& secret) noexcept;

}  // namespace unecho::packet
