// SPDX-License-Identifier: BSD-3-Clause
// Steps that link types (link.cpp) share on the way to an IP header. Hot code: reads only bytes
// inside the frame, writes nothing.
#pragma once

#include <cstdint>

#include "packets/headers.h"

namespace unecho::packet {

enum class L3Type : std::uint8_t { kIpv4, kIpv6, kNonIp, kMalformed };

// The packet that the preceding header announces, and its offset, at most the frame's length.
struct Located {
    L3Type found;
    std::uint32_t offset;
};

// Locate the packet behind an EtherType: IP, tags (tags.h), MPLS labels, a PPPoE session, or
// nothing known. offset is that of the byte behind the EtherType, at most length.
[[nodiscard]] Located locate_by_ethertype(std::uint16_t type, const std::uint8_t* frame,
                                          std::uint32_t length, std::uint32_t offset) noexcept;

// Skip MPLS labels. Return false if they are cut short.
[[nodiscard]] bool skip_labels(const std::uint8_t* frame, std::uint32_t length,
                               std::uint32_t& offset) noexcept;

// Return true if these bytes, which no type field announces, are an IP packet. The first nibble
// does not prove it: MAC addresses may begin with 4 or 6 too. At most kMaxTrailer bytes may follow
// the packet, so that a frame mistaken for one is still compared with nearly all of its bytes. IPv4
// needs a correct header checksum; IPv6 a known next header, a hop limit above 0, and addresses
// from allocated ranges.
inline constexpr std::uint32_t kMaxTrailer = 64;
[[nodiscard]] bool is_sound_ip(const std::uint8_t* data, std::uint32_t available) noexcept;

// Locate the packet below the MPLS label at offset. Nothing says what follows the last label: an IP
// packet if its header is sound, else no IP (RFC 4928, section 2, tells what goes wrong otherwise).
[[nodiscard]] Located locate_below_mpls(const std::uint8_t* frame, std::uint32_t length,
                                        std::uint32_t offset) noexcept;

// Locate by the version nibble, where IP is announced. Any nibble other than 4 or 6 gives `other`.
[[nodiscard]] Located locate_by_version(const std::uint8_t* frame, std::uint32_t length,
                                        std::uint32_t offset, L3Type other) noexcept;

// Locate where nothing announces IP: unsound headers are kNonIp, incomplete ones kMalformed.
[[nodiscard]] Located locate_sound_ip(const std::uint8_t* frame, std::uint32_t length,
                                      std::uint32_t offset) noexcept;

// Locate by the PPP protocol at offset.
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
