// SPDX-License-Identifier: BSD-3-Clause
// Protocol numbers that the parser knows, and loads of header fields. A load reads exactly as many
// bytes as it is wide; the caller checks that they exist.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "base/int128.h"

namespace unecho::packet {

inline constexpr std::uint32_t kEthernetHeader = 14;
inline constexpr std::uint32_t kSllHeader = 16;    // Linux cooked capture
inline constexpr std::uint32_t kSll2Header = 20;   // version 2
inline constexpr std::uint32_t kFamilyHeader = 4;  // null, loop
inline constexpr std::uint32_t kTag = 4;           // a VLAN tag or an MPLS label
inline constexpr std::uint32_t kLlcHeader = 3;
inline constexpr std::uint16_t kMax8023Length = 1500;
inline constexpr std::uint32_t kMinPayload = 46;  // of Ethernet; shorter payloads are padded
inline constexpr std::uint32_t kIpv4MinHeader = 20;
inline constexpr std::uint32_t kIpv6Header = 40;
inline constexpr std::uint32_t kSnapHeader = 8;  // three bytes of LLC, then OUI and EtherType
inline constexpr std::uint32_t kHdlcHeader = 4;
inline constexpr std::uint32_t kNflogHeader = 4;
inline constexpr std::uint32_t kPorts = 4;  // source and destination port

// EtherTypes
inline constexpr std::uint16_t kEtherIpv4 = 0x0800;
inline constexpr std::uint16_t kEtherIpv6 = 0x86DD;
inline constexpr std::uint16_t kEtherVlan = 0x8100;    // IEEE 802.1Q
inline constexpr std::uint16_t kEtherQinq = 0x88A8;    // IEEE 802.1ad
inline constexpr std::uint16_t kEtherQinq91 = 0x9100;  // used before 802.1ad, still in use
inline constexpr std::uint16_t kEtherQinq92 = 0x9200;
inline constexpr std::uint16_t kEtherMpls = 0x8847;
inline constexpr std::uint16_t kEtherMplsMulticast = 0x8848;
inline constexpr std::uint16_t kEtherPppoe = 0x8864;  // sessions, RFC 2516
inline constexpr std::uint16_t kEtherHsr = 0x892F;    // IEC 62439-3
inline constexpr std::uint16_t kEtherRtag = 0xF1C1;   // IEEE 802.1CB
inline constexpr std::uint16_t kPrpSuffix = 0x88FB;   // ends the trailer; IEC 62439-3

// PPP protocol numbers, and the bytes before them in HDLC-like framing (RFC 1662)
inline constexpr std::uint16_t kPppIpv4 = 0x0021;
inline constexpr std::uint16_t kPppIpv6 = 0x0057;
inline constexpr std::uint16_t kPppAddressControl = 0xFF03;

// Address families. Each system has its own number for IPv6.
inline constexpr std::uint8_t kFamilyIpv4 = 2;
inline constexpr std::uint8_t kFamilyIpv6Linux = 10;
inline constexpr std::uint8_t kFamilyIpv6Bsd = 24;  // NetBSD, OpenBSD
inline constexpr std::uint8_t kFamilyIpv6FreeBsd = 28;
inline constexpr std::uint8_t kFamilyIpv6Darwin = 30;

// IP protocol numbers, IPv6 next headers
inline constexpr std::uint8_t kProtoHopByHop = 0;
inline constexpr std::uint8_t kProtoTcp = 6;
inline constexpr std::uint8_t kProtoUdp = 17;
inline constexpr std::uint8_t kProtoDccp = 33;
inline constexpr std::uint8_t kProtoRouting = 43;
inline constexpr std::uint8_t kProtoFragment = 44;
inline constexpr std::uint8_t kProtoEsp = 50;
inline constexpr std::uint8_t kProtoAh = 51;
inline constexpr std::uint8_t kProtoIcmpv6 = 58;
inline constexpr std::uint8_t kProtoNoNext = 59;
inline constexpr std::uint8_t kProtoDestination = 60;
inline constexpr std::uint8_t kProtoSctp = 132;
inline constexpr std::uint8_t kProtoMobility = 135;
inline constexpr std::uint8_t kProtoUdpLite = 136;
inline constexpr std::uint8_t kProtoHip = 139;
inline constexpr std::uint8_t kProtoShim6 = 140;

[[nodiscard]] inline std::uint16_t load_be16(const std::uint8_t* p) noexcept {
    std::uint16_t value = 0;
    std::memcpy(&value, p, sizeof value);
    static_assert(std::endian::native == std::endian::little);
    return __builtin_bswap16(value);
}

[[nodiscard]] inline std::uint32_t load_be32(const std::uint8_t* p) noexcept {
    std::uint32_t value = 0;
    std::memcpy(&value, p, sizeof value);
    return __builtin_bswap32(value);
}

[[nodiscard]] inline std::uint64_t load_be64(const std::uint8_t* p) noexcept {
    std::uint64_t value = 0;
    std::memcpy(&value, p, sizeof value);
    return __builtin_bswap64(value);
}

[[nodiscard]] inline uint128 load_be128(const std::uint8_t* p) noexcept {
    return uint128{load_be64(p)} << 64 | load_be64(p + 8);
}

// Load a MAC address as a 48-bit number.
[[nodiscard]] inline std::uint64_t load_be48(const std::uint8_t* p) noexcept {
    return std::uint64_t{load_be16(p)} << 32 | load_be32(p + 2);
}

// Load little-endian: the byte at p is the lowest.
[[nodiscard]] inline std::uint32_t load_le16(const std::uint8_t* p) noexcept {
    return p[0] | std::uint32_t{p[1]} << 8;
}

[[nodiscard]] inline std::uint32_t load_le32(const std::uint8_t* p) noexcept {
    return load_le16(p) | load_le16(p + 2) << 16;
}

[[nodiscard]] inline std::uint64_t load_le64(const std::uint8_t* p) noexcept {
    std::uint64_t value = 0;
    std::memcpy(&value, p, sizeof value);
    return value;
}

}  // namespace unecho::packet
