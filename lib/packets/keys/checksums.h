// SPDX-License-Identifier: BSD-3-Clause
// TCP, UDP and SCTP checksums that a card fills in later. A packet captured before that, on a host
// or a bridge of virtual machines, holds the card's starting value. This is the sum of the pseudo
// header, folded but not complemented; in SCTP 0. Such a packet is compared as the card will send
// it (docs/decisions/0025-partial-checksums.md). Hot code: reads inside the packet only.
#pragma once

#include <array>
#include <cstdint>

#include "packets/headers.h"
#include "packets/parse.h"

namespace unecho::packet {

// A checksum as the card will write it.
struct FilledChecksum {
    std::uint32_t at = 0;     // in the packet
    std::uint32_t size = 0;   // 0: nothing to fill in
    std::uint32_t value = 0;  // its bytes in memory order
};

// Return the checksum that replaces a partial sum. Return nothing if there is no partial sum, or if
// bytes that it covers were not captured; `available` bytes exist from the packet's first byte on.
// Return nothing for fragments, and for segments whose IP header does not state a length.
[[nodiscard]] FilledChecksum fill_checksum(L3Type found, const IpPacket& ip,
                                           std::uint32_t available) noexcept;

// Offset of each protocol's checksum behind the IP header; 0: protocols without a fast check. A
// table, because TCP and UDP are mixed and a branch would be mispredicted.
inline constexpr std::array<std::uint8_t, 256> kChecksumField = [] {
    std::array<std::uint8_t, 256> out{};
    out[kProtoTcp] = 16;
    out[kProtoUdp] = 6;
    return out;
}();

// Return true if fill_checksum() must be called: always if there is something to fill in, else for
// about one in 65535 TCP and UDP packets.
[[nodiscard]] inline bool may_be_partial_ipv4(const IpPacket& ip) noexcept {
    constexpr std::uint32_t kLeast = kIpv4MinHeader + 18;
    const std::uint8_t* const p = ip.data;
    const std::uint64_t head = load_le64(p);
    const std::uint64_t protocol = p[9];
    const std::uint32_t at = kChecksumField[protocol];
    if ((head & 0xFF) != 0x45 || ip.length < kLeast || at == 0) [[unlikely]] {
        return true;
    }
    const std::uint64_t addresses = load_le64(p + 12);
    // A sum of 16-bit words, in either byte order, is the number modulo 65535. The length is the IP
    // header's minus 20; the protocol is the lower byte of a word. 65535 keeps it above 0.
    const std::uint64_t sum =
        (addresses & 0xFFFF'FFFF) + (addresses >> 32) + (head >> 16 & 0xFFFF) + (protocol << 8) +
        (2 * 65535 - (kIpv4MinHeader << 8)) - load_le16(p + kIpv4MinHeader + at);
    return sum % 65535 == 0;
}

[[nodiscard]] inline bool may_be_partial_ipv6(const IpPacket& ip) noexcept {
    constexpr std::uint32_t kLeast = kIpv6Header + 18;
    const std::uint8_t* const p = ip.data;
    const std::uint64_t protocol = p[6];
    const std::uint32_t at = kChecksumField[protocol];
    if (ip.length < kLeast || at == 0) {
        return protocol != kProtoIcmpv6;
    }
    std::uint64_t sum =
        load_le16(p + 4) + (protocol << 8) + 65535 - load_le16(p + kIpv6Header + at);
    for (std::uint32_t word = 8; word < kIpv6Header; word += 4) {
        sum += load_le32(p + word);
    }
    return sum % 65535 == 0;
}

[[nodiscard]] inline bool may_be_partial(L3Type found, const IpPacket& ip) noexcept {
    return found == L3Type::kIpv4 ? may_be_partial_ipv4(ip) : may_be_partial_ipv6(ip);
}

}  // namespace unecho::packet
