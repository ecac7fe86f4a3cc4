// SPDX-License-Identifier: BSD-3-Clause
// What stands before IP headers: what the link types (link.cpp) share of it.
// Hot code: reads only bytes inside the frame, writes nothing.
#pragma once

#include <cstdint>

#include "packet/headers.h"

namespace unecho::packet {

enum class Found : std::uint8_t { kIpv4, kIpv6, kNonIp, kMalformed };

// kIpv4, kIpv6: what the header before it announces at offset, which is at most the frame's length.
struct Located {
    Found found;
    std::uint32_t offset;
};

// What an EtherType leads to: IP, VLAN tags, MPLS labels, a PPPoE session, or nothing known. offset
// is the byte behind the EtherType, at most length.
[[nodiscard]] Located locate_by_ethertype(std::uint16_t type, const std::uint8_t* frame,
                                          std::uint32_t length, std::uint32_t offset) noexcept;

[[nodiscard]] constexpr bool is_mpls(std::uint16_t type) noexcept {
    return type == kEtherMpls || type == kEtherMplsMulticast;
}

// Behind VLAN tags, with the EtherType that the last one says; false: cut short.
[[nodiscard]] bool skip_tags(const std::uint8_t* frame, std::uint32_t length, std::uint16_t& type,
                             std::uint32_t& offset) noexcept;

// Behind the last MPLS label; false: cut short.
[[nodiscard]] bool skip_labels(const std::uint8_t* frame, std::uint32_t length,
                               std::uint32_t& offset) noexcept;

// A label is at offset. Below the last one nothing says what follows; as routers do, the first
// nibble decides (RFC 4928, section 2).
[[nodiscard]] Located locate_below_mpls(const std::uint8_t* frame, std::uint32_t length,
                                        std::uint32_t offset) noexcept;

// What the first nibble of an IP header says; other is what it is with any other nibble.
[[nodiscard]] Located locate_by_version(const std::uint8_t* frame, std::uint32_t length,
                                        std::uint32_t offset, Found other) noexcept;

// The PPP protocol is at offset.
[[nodiscard]] Located locate_by_ppp(const std::uint8_t* frame, std::uint32_t length,
                                    std::uint32_t offset) noexcept;

[[nodiscard]] inline Located locate_in_ethernet(const std::uint8_t* frame,
                                                std::uint32_t length) noexcept {
    if (length < kEthernetHeader) {
        return {Found::kMalformed, 0};
    }
    const std::uint16_t type = load_be16(frame + kEthernetHeader - 2);
    if (type == kEtherIpv4) {
        return {Found::kIpv4, kEthernetHeader};
    }
    if (type == kEtherIpv6) {
        return {Found::kIpv6, kEthernetHeader};
    }
    return locate_by_ethertype(type, frame, length, kEthernetHeader);
}

}  // namespace unecho::packet
