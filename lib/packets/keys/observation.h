// SPDX-License-Identifier: BSD-3-Clause
// Which packets say what transmission they are, and what a packet says of where it was seen. The
// union rule (filters/repeats/union_rule.h) is made of the two.
//
// Identified: IPv4 with an ID above 1, and every fragment. IPv6 packets have no ID; an IPv4 packet
// that must not be fragmented may have 0 (RFC 6864), and programs write 1 into everything.
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

// What becomes of equal packets that do not say which transmission they are.
enum class Repeats : std::uint8_t {
    kDrop,  // all but the first within the window are taken for copies
    kKeep,  // the union rule tells copies from packets that were sent again
};
inline constexpr std::array<std::string_view, 2> kRepeatsNames{"drop", "keep"};

// What makes a point of observation, beside the group of the port.
enum class Point : std::uint8_t {
    kPort,  // nothing
    kLink,  // MAC addresses, or the header of a Linux cooked capture; else TTL or hop limit. Of a
            // tunnel that was opened its ends and identifier.
    kLinkTtl,  // the same, and TTL or hop limit in any case
};
inline constexpr std::array<std::string_view, 3> kPointNames{"port", "link", "link-ttl"};

// Which second looks of a point at a packet, within same_port, are copies.
enum class SecondLooks : std::uint8_t {
    kDoubled,  // those of populations that are known to be doubled (filters/repeats/union_rule.h)
    kAll,
};
inline constexpr std::array<std::string_view, 2> kSecondLooksNames{"doubled", "all"};

// Of a bounded packet.
[[nodiscard]] inline bool is_identified_ipv4(const IpPacket& ip) noexcept {
    return load_be16(ip.data + 4) > 1 || (load_be16(ip.data + 6) & 0x3FFF) != 0;
}
[[nodiscard]] inline bool is_identified_ipv6(const IpPacket& ip) noexcept {
    const std::uint8_t next = ip.data[6];
    return next != kProtoTcp && next != kProtoUdp && upper_of_ipv6(ip).fragment;
}

// Bit i: packet i of the burst is identified.
[[nodiscard]] std::uint64_t identified(const ParsedBurst& parsed) noexcept;

// What a packet says of where it was seen. Hashes under the secret.
struct ObservationPoint {
    std::uint64_t link = 0;  // what the link says, or the TTL; and the tunnel, if one was opened
    std::uint64_t pair = 0;  // the same without the TTL: whose packets these are
    std::uint32_t tags = 0;  // VLAN tags, MPLS labels and the like before the IP packet; 0: none
    std::uint8_t ttl = 0;    // or hop limit; 0 without a packet

    bool operator==(const ObservationPoint&) const = default;
};

[[nodiscard]] inline std::uint8_t hop_limit_of(const Parsed& parsed) noexcept {
    return parsed.found == L3Type::kIpv4   ? parsed.ip.data[8]
           : parsed.found == L3Type::kIpv6 ? parsed.ip.data[7]
                                           : std::uint8_t{0};
}

// One tag stands for itself, several for their hash; 0: none.
[[nodiscard]] std::uint32_t tags_mark(const std::uint8_t* tags, std::uint32_t length,
                                      const hash::Secret& secret) noexcept;

inline constexpr std::uint32_t kMacAddresses = 12;

// Of an Ethernet frame with both MAC addresses. The words of the secret are those of second heads,
// which no digest of a packet is made with.
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

// Of a frame; parsed: the packet that stage parse found in it, the innermost one if tunnels were
// opened.
[[nodiscard]] ObservationPoint observation_point_of(LinkType link, const Frame& frame,
                                                    const Parsed& parsed,
                                                    const hash::Secret& secret) noexcept;
[[nodiscard]] ObservationPoint observation_point_inside(const Tunnels& tunnels, LinkType link,
                                                        const Frame& frame, const Parsed& innermost,
                                                        const hash::Secret& secret) noexcept;

}  // namespace unecho::packet
