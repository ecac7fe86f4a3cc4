// SPDX-License-Identifier: BSD-3-Clause
// LinkType types: what stands before the IP packet of a captured frame. All that there is to say of
// one is its row of the table in link.cpp, beside the functions that read its header. A new one is
// an enumerator here, which has to have a row, and that row.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace unecho::packet {

enum class LinkType : std::uint8_t {
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
    kPppEther,    // a session of PPPoE, without what is before its header
    kUnknown,     // only frame keys can be made; stays the last
};
inline constexpr unsigned kLinks = static_cast<unsigned>(LinkType::kUnknown) + 1;

struct Located;     // packets/locate.h
struct NonIpFrame;  // packets/keys/non_ip.h
struct WifiFrame;   // packets/wifi.h

// What NonIpFrame::type is.
enum class NonIpNumber : std::uint8_t {
    kEtherType,      // or, of 802.3, a length
    kFamily,         // an address family
    kPpp,            // a protocol of PPP
    kWifiType,       // of a frame of 802.11
    kHdlcEtherType,  // of Cisco HDLC
    kNone,
};

// What the link layer has written in front of a packet: its addresses lie in [begin, end) of the
// frame; tags begin at `tags`, and there are none where the packet begins at `plain` or before.
struct LinkHeader {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    std::uint32_t tags = 0;
    std::uint32_t plain = 0;
};

// An EtherType of a frame, and where what it announces begins.
struct EtherTypeAt {
    bool any = false;  // false: the frame has none, or is cut short before it
    std::uint16_t type = 0;
    std::uint32_t offset = 0;
};

struct LinkInfo {
    static constexpr std::int32_t kNoNumber = -1;

    LinkType link;
    std::string_view name;                // as people call it: "Ethernet", "raw IP"
    std::array<std::int32_t, 3> numbers;  // LINKTYPE_ of pcap; docs/captures.md has the table
    NonIpNumber non_ip_number;            // of frames of this kind (NonIpFrame)
    LinkHeader header{};                  // not of 802.11, whose header says where they are
    // Where the IP packet is. length becomes less by what is known to stand behind all packets (the
    // check sequence of 802.11).
    Located (*locate)(const std::uint8_t* frame, std::uint32_t& length) noexcept;
    // What is compared of a frame in which there is none.
    NonIpFrame (*non_ip)(const std::uint8_t* frame, std::uint32_t length) noexcept;
    // What stands behind an EtherType in such a frame though all of it is compared; kind is that of
    // the row where there is none. Null: as non_ip.
    NonIpFrame (*typed)(const std::uint8_t* frame, std::uint32_t length) noexcept = nullptr;
    // The outermost EtherType of a frame; null: frames of the link type have none, or not always.
    EtherTypeAt (*ether_type)(const std::uint8_t* frame, std::uint32_t length) noexcept = nullptr;
    // Where the frame of 802.11 is; null: it is none.
    WifiFrame (*wifi)(const std::uint8_t* frame, std::uint32_t length) noexcept = nullptr;
};

[[nodiscard]] const LinkInfo& info_of(LinkType link) noexcept;

// By the LINKTYPE_ number; kUnknown for those that have no row.
[[nodiscard]] LinkType link_type_of(std::uint16_t link_type) noexcept;

[[nodiscard]] std::string_view name_of(LinkType link) noexcept;

}  // namespace unecho::packet
