// SPDX-License-Identifier: BSD-3-Clause
// Link types: what precedes the IP packet of a captured frame. Everything about a link type is in
// its row of the table in link.cpp, next to the functions that read its header. To add one, add an
// enumerator here and its row there; a missing row does not compile.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace unecho::packet {

enum class LinkType : std::uint8_t {
    kEthernet,
    kRaw,         // an IP packet of either version
    kIpv4,        // an IPv4 packet
    kIpv6,        // an IPv6 packet
    kNull,        // BSD loopback: the address family in the byte order of the capturing host
    kLoop,        // OpenBSD loopback: the address family, big-endian
    kPpp,         // with or without address and control bytes
    kSll,         // Linux cooked capture
    kSll2,        // Linux cooked capture, version 2
    kWifi,        // 802.11
    kRadiotap,    // 802.11 after a radiotap header
    kPpi,         // 802.11 after a PPI header
    kAvs,         // 802.11 after an AVS header
    kHdlc,        // Cisco HDLC
    kFrameRelay,  // RFC 2427, or Cisco's form with an EtherType
    kNflog,       // Linux's netfilter log
    kPppEther,    // a PPPoE session, from the PPPoE header on
    kUnknown,     // only frame keys are possible; stays the last
};
inline constexpr unsigned kLinks = static_cast<unsigned>(LinkType::kUnknown) + 1;

struct Located;     // packets/locate.h
struct NonIpFrame;  // packets/keys/non_ip.h
struct WifiFrame;   // packets/wifi.h

// Kind of number in NonIpFrame::type.
enum class NonIpNumber : std::uint8_t {
    kEtherType,      // or a length of 802.3
    kFamily,         // an address family
    kPpp,            // a PPP protocol
    kWifiType,       // type of an 802.11 frame
    kHdlcEtherType,  // EtherType of Cisco HDLC
    kNone,
};

// Layout of the link header: the addresses lie in [begin, end) of the frame, and tags begin at
// `tags`. A packet that begins at `plain` or before has no tags.
struct LinkHeader {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    std::uint32_t tags = 0;
    std::uint32_t plain = 0;
};

// An EtherType of a frame, and where the payload that it announces begins.
struct EtherTypeAt {
    bool any = false;  // false: the frame has none, or is cut short before it
    std::uint16_t type = 0;
    std::uint32_t offset = 0;
};

struct LinkInfo {
    static constexpr std::int32_t kNoNumber = -1;

    LinkType link;
    std::string_view name;                // its usual name: "Ethernet", "raw IP"
    std::array<std::int32_t, 3> numbers;  // LINKTYPE_ of pcap; docs/captures.md has the table
    NonIpNumber non_ip_number;            // of frames without an IP packet (NonIpFrame)
    LinkHeader header{};                  // unused for 802.11, whose header states its layout
    // Locate the IP packet. Reduce length by what follows all packets (802.11's check sequence).
    Located (*locate)(const std::uint8_t* frame, std::uint32_t& length) noexcept;
    // Return what is compared of a frame without an IP packet.
    NonIpFrame (*non_ip)(const std::uint8_t* frame, std::uint32_t length) noexcept;
    // Return what follows an EtherType in such a frame, for link types that compare the whole
    // frame; the kind is the row's own if there is no EtherType. Null: same as non_ip.
    NonIpFrame (*typed)(const std::uint8_t* frame, std::uint32_t length) noexcept = nullptr;
    // Find the outermost EtherType of a frame. Null: not all frames of the link type have one.
    EtherTypeAt (*ether_type)(const std::uint8_t* frame, std::uint32_t length) noexcept = nullptr;
    // Find the 802.11 frame. Null: not a link type of 802.11.
    WifiFrame (*wifi)(const std::uint8_t* frame, std::uint32_t length) noexcept = nullptr;
};

[[nodiscard]] const LinkInfo& info_of(LinkType link) noexcept;

// Return the link type of a LINKTYPE_ number; kUnknown for numbers without a row.
[[nodiscard]] LinkType link_type_of(std::uint16_t link_type) noexcept;

[[nodiscard]] std::string_view name_of(LinkType link) noexcept;

}  // namespace unecho::packet
