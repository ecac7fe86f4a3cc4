// SPDX-License-Identifier: BSD-3-Clause
// Link types: what stands before the IP packet of a captured frame.
#pragma once

#include <cstdint>
#include <string_view>

namespace unecho::packet {

enum class Link : std::uint8_t {
    kEthernet,
    kRaw,         // an IP packet, by its version
    kIpv4,        // an IPv4 packet
    kIpv6,        // an IPv6 packet
    kNull,        // BSD loopback: the address family in the byte order of the host that captured
    kLoop,        // OpenBSD loopback: the address family, big-endian
    kPpp,         // with or without address and control
    kSll,         // Linux cooked capture
    kSll2,        // Linux cooked capture, version 2
    kWifi,        // 802.11
    kRadiotap,    // 802.11 behind a radiotap header
    kPpi,         // 802.11 behind a PPI header
    kAvs,         // 802.11 behind an AVS header
    kHdlc,        // Cisco HDLC
    kFrameRelay,  // as RFC 2427 has it, or with an EtherType as Cisco has
    kNflog,       // Linux's netfilter log
    kUnknown,     // only frame keys can be made
};
inline constexpr unsigned kLinks = 17;

// By the LINKTYPE_ number of pcap; docs/captures.md has the table.
[[nodiscard]] Link link_of(std::uint16_t link_type) noexcept;

// As people call it: "Ethernet", "raw IP", "Linux cooked".
[[nodiscard]] std::string_view name_of(Link link) noexcept;

}  // namespace unecho::packet
