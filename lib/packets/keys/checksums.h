// SPDX-License-Identifier: BSD-3-Clause
// Checksums of TCP, UDP and SCTP that a card fills in later. A packet that was captured before, on
// a host or on the bridge of virtual machines, holds there what the card goes on from: the sum of
// the pseudo header, folded and not complemented; in SCTP 0. Such a packet counts as the card will
// send it (docs/decisions/0025-partial-checksums.md). Hot code: reads only bytes inside the packet,
// writes nothing.
#pragma once

#include <array>
#include <cstdint>

#include "packets/headers.h"
#include "packets/parse.h"

namespace unecho::packet {

// A checksum as the card will write it.
struct FilledChecksum {
    std::uint32_t at = 0;     // in the packet
    std::uint32_t size = 0;   // 0: there is nothing to fill in
    std::uint32_t value = 0;  // its bytes as they lie in memory
};

// Return what stands in place of a partial sum. Nothing if it is no such sum, or if bytes that it
// covers were not captured: `available` are there from the packet's first byte on. Nothing of
// fragments, and of segments of which the IP header does not say the length.
[[nodiscard]] FilledChecksum fill_checksum(L3Type found, const IpPacket& ip,
                                           std::uint32_t available) noexcept;

// Behind the IP header the checksum of each protocol; 0: none that is looked for fast. A table,
// since TCP and UDP come mixed and a branch would be guessed wrong.
inline constexpr std::array<std::uint8_t, 256> kChecksumField = [] {
    std::array<std::uint8_t, 256> out{};
    out[kProtoTcp] = 16;
    out[kProtoUdp] = 6;
    return out;
}();

// Return whether fill_checksum() has to be asked: always if there is something to fill in, else
// about once in 65535 packets of TCP and UDP.
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
    // A sum of 16-bit words in either byte order is the number modulo 65535. The length is that of
    // the IP header less 20, the protocol the lower byte of a word; 65535 keeps it above 0.
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
