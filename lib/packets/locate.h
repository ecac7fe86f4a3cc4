// SPDX-License-Identifier: BSD-3-Clause
// What stands before IP headers: what the link types (link.cpp) share of it.
// Hot code: reads only bytes inside the frame, writes nothing.
#pragma once

#include <cstdint>

#include "packets/headers.h"

namespace unecho::packet {

enum class L3Type : std::uint8_t { kIpv4, kIpv6, kNonIp, kMalformed };

// kIpv4, kIpv6: what the header before it announces at offset, which is at most the frame's length.
struct Located {
    L3Type found;
    std::uint32_t offset;
};

// What an EtherType leads to: IP, tags (tags.h), MPLS labels, a PPPoE session, or nothing known.
// offset is the byte behind the EtherType, at most length.
[[nodiscard]] Located locate_by_ethertype(std::uint16_t type, const std::uint8_t* frame,
                                          std::uint32_t length, std::uint32_t offset) noexcept;

// Behind the last MPLS label; false: cut short.
[[nodiscard]] bool skip_labels(const std::uint8_t* frame, std::uint32_t length,
                               std::uint32_t& offset) noexcept;

// Return whether these bytes, which an encapsulation without a type field holds, are an IP packet.
// The first nibble alone does not say so: Ethernet frames to MAC addresses that begin with 4 or 6
// have the same one. A sound header fits what follows it: at most kMaxTrailer bytes stand behind
// the packet, so a frame that is still taken for one counts with nearly all of its bytes. IPv4 has
// a right header checksum; IPv6 a known next header, a hop limit, and addresses of allocated
// ranges.
inline constexpr std::uint32_t kMaxTrailer = 64;
[[nodiscard]] bool is_sound_ip(const std::uint8_t* data, std::uint32_t available) noexcept;

// A label is at offset. Below the last one nothing says what follows: an IP packet if one is sound,
// else no IP (RFC 4928, section 2, has what goes wrong otherwise).
[[nodiscard]] Located locate_below_mpls(const std::uint8_t* frame, std::uint32_t length,
                                        std::uint32_t offset) noexcept;

// What the first nibble of an IP header says, where it is known to be one; other is what it is with
// any other nibble.
[[nodiscard]] Located locate_by_version(const std::uint8_t* frame, std::uint32_t length,
                                        std::uint32_t offset, L3Type other) noexcept;

// The same where nothing else says that it is IP: unsound headers are kNonIp, short ones malformed.
[[nodiscard]] Located locate_sound_ip(const std::uint8_t* frame, std::uint32_t length,
                                      std::uint32_t offset) noexcept;

// The PPP protocol is at offset.
[[nodiscard]] Located locate_by_ppp(const std::uint8_t* frame, std::uint32_t length,
                                    std::uint32_t offset) noexcept;

[[nodiscard]] inline Located locate_in_ethernet(const std::uint8_t* frame,
                                                std::uint32_t length) noexcept {
    if (length < kEthernetHeader) {
        return {L3Type::kMalformed, 0};
    }
    const std::uint16_t type = load_be16(frame + kEthernetHeader - 2);
    if (type == kEtherIpv4) {
        return {L3Type::kIpv4, kEthernetHeader};
    }
    if (type == kEtherIpv6) {
        return {L3Type::kIpv6, kEthernetHeader};
    }
    return locate_by_ethertype(type, frame, length, kEthernetHeader);
}

}  // namespace unecho::packet
