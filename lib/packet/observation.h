// SPDX-License-Identifier: BSD-3-Clause
// Which packets say what transmission they are, and what a packet says of where it was seen. The
// union rule (filter/repeats/union_rule.h) is made of the two.
//
// Identified: IPv4 with an ID above 1, and every fragment. IPv6 packets have no ID; an IPv4 packet
// that must not be fragmented may have 0 (RFC 6864), and programs write 1 into everything.
//
// Hot code: reads only bytes inside the frame, writes nothing to it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "hash/secret.h"
#include "packet/frame.h"
#include "packet/link.h"
#include "packet/parse.h"
#include "packet/tunnels.h"

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
};
inline constexpr std::array<std::string_view, 2> kPointNames{"port", "link"};

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
struct Place {
    std::uint64_t link = 0;  // what the link says, or the TTL; and the tunnel, if one was opened
    std::uint64_t pair = 0;  // the same without the TTL: whose packets these are
    std::uint32_t tags = 0;  // VLAN tags, MPLS labels and the like before the IP packet; 0: none
    std::uint8_t ttl = 0;    // or hop limit; 0 without a packet
};

// Of a frame; parsed: the packet that stage parse found in it, the innermost one if tunnels were
// opened.
[[nodiscard]] Place place_of(Link link, const Frame& frame, const Parsed& parsed,
                             const hash::Secret& secret) noexcept;
[[nodiscard]] Place place_inside(const Tunnels& tunnels, Link link, const Frame& frame,
                                 const Parsed& innermost, const hash::Secret& secret) noexcept;

}  // namespace unecho::packet
