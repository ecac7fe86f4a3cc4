// SPDX-License-Identifier: BSD-3-Clause
#include "packets/keys/checksums.h"

#include <array>

namespace unecho::packet {
namespace {

constexpr std::uint32_t kUdpHeader = 8;
constexpr std::uint32_t kTcpHeader = 20;
constexpr std::uint32_t kSctpHeader = 12;

std::uint16_t folded(std::uint64_t sum) noexcept {
    while (sum >> 16 != 0) {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    return static_cast<std::uint16_t>(sum);
}

// Sum 16-bit words (RFC 1071); a zero byte completes the last one if necessary.
std::uint64_t sum_of(const std::uint8_t* data, std::uint32_t size) noexcept {
    std::uint64_t sum = 0;
    std::uint32_t at = 0;
    for (; at + 4 <= size; at += 4) {
        sum += load_be32(data + at);
    }
    if (at + 2 <= size) {
        sum += load_be16(data + at);
        at += 2;
    }
    return at < size ? sum + (std::uint64_t{data[at]} << 8) : sum;
}

// Table of CRC32c by bytes (RFC 9260, appendix A).
constexpr std::array<std::uint32_t, 256> kCrc32c = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
        std::uint32_t crc = byte;
        for (int bit = 0; bit < 8; ++bit) {
            crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82F6'3B78U : 0);
        }
        table.at(byte) = crc;
    }
    return table;
}();

std::uint32_t crc32c_of(const std::uint8_t* data, std::uint32_t size) noexcept {
    std::uint32_t crc = ~0U;
    for (std::uint32_t at = 0; at < size; ++at) {
        crc = crc >> 8 ^ kCrc32c[(crc ^ data[at]) & 0xFF];
    }
    return ~crc;
}

// Return the length of the packet as its header states it; 0 if it does not.
std::uint32_t total_of(bool ipv4, const std::uint8_t* data) noexcept {
    const std::uint32_t length = load_be16(data + (ipv4 ? 2 : 4));
    return ipv4 || length == 0 ? length : kIpv6Header + length;
}

FilledChecksum fill_sctp(const std::uint8_t* message, std::uint32_t offset,
                         std::uint32_t size) noexcept {
    constexpr std::uint32_t kField = 8;
    if (size < kSctpHeader || load_le32(message + kField) != 0) {
        return {};
    }
    const std::uint32_t crc = crc32c_of(message, size);
    return crc == 0 ? FilledChecksum{} : FilledChecksum{offset + kField, 4, crc};
}

}  // namespace

FilledChecksum fill_checksum(L3Type found, const IpPacket& ip, std::uint32_t available) noexcept {
    const bool ipv4 = found == L3Type::kIpv4;
    if (!ipv4 && ip.length < kIpv6Header) {  // key_bytes cut the packet
        return {};
    }
    const std::uint32_t total = total_of(ipv4, ip.data);
    if (total == 0 || total > available) {
        return {};
    }
    const IpPacket whole{ip.data, total};
    const Upper upper = ipv4 ? upper_of_ipv4(whole) : upper_of_ipv6(whole);
    if (!upper.whole || upper.fragment || upper.offset > total) {
        return {};
    }
    const auto offset = static_cast<std::uint32_t>(upper.offset);
    const std::uint8_t* const message = ip.data + offset;
    const std::uint32_t size = total - offset;
    if (upper.protocol == kProtoSctp) {
        return fill_sctp(message, offset, size);
    }
    const bool udp = upper.protocol == kProtoUdp;
    const std::uint32_t field = udp ? 6 : 16;
    if ((!udp && upper.protocol != kProtoTcp) || size < (udp ? kUdpHeader : kTcpHeader)) {
        return {};
    }
    const std::uint16_t there = load_be16(message + field);
    const std::uint64_t pseudo =
        sum_of(ip.data + (ipv4 ? 12 : 8), ipv4 ? 8 : 32) + upper.protocol + std::uint64_t{size};
    if (folded(pseudo) != there) {
        return {};
    }
    // The field itself counts as 0. UDP sends 0xFFFF for 0, which means "no checksum".
    auto filled = static_cast<std::uint16_t>(~folded(pseudo + sum_of(message, size) - there));
    filled = udp && filled == 0 ? std::uint16_t{0xFFFF} : filled;
    return filled == there ? FilledChecksum{}
                           : FilledChecksum{offset + field, 2, __builtin_bswap16(filled)};
}

}  // namespace unecho::packet
