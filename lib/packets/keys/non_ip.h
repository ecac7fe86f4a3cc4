// SPDX-License-Identifier: BSD-3-Clause
// The compared part of a frame without an IP packet: no tags, no labels, no padding. The row of its
// link type says how (link.h). Hot code: reads only bytes inside the frame.
#pragma once

#include <cstdint>

#include "packets/headers.h"
#include "packets/link.h"

namespace unecho::packet {

struct NonIpFrame {
    // Link type whose numbers these are. kEthernet also stands for 802.11 with an EtherType, kSll
    // for both cooked ones, kNull for both loopbacks, kWifi for 802.11 without an EtherType.
    LinkType kind = LinkType::kUnknown;
    // False (802.11 only): nothing distinguishes a copy from a repeat, so there is no key.
    bool compared = true;
    // Addresses as numbers in network order, or 0 if the link type has none. Linux cooked captures
    // have only the sender's; its bytes after the sixth are in `destination`.
    std::uint64_t destination = 0;
    std::uint64_t source = 0;
    // The kind of body, a number as the row's NonIpNumber says. Ethernet and cooked headers: the
    // innermost EtherType, or the length of 802.3. Cisco HDLC: the EtherType. PPP: the protocol.
    // Loopbacks, NFLOG: the address family. kWifi: the type (management, ...). Else 0.
    std::uint16_t type = 0;
    bool inner = false;  // the addresses belong to an Ethernet frame inside another one
    // The frame number of redundancy protocols (HSR, IEEE 802.1CB, PRP), with kNumbered. It
    // distinguishes a copy on the other path from a repeat.
    static constexpr std::uint32_t kNumbered = 0x1'0000;
    std::uint32_t sequence = 0;
    const std::uint8_t* body = nullptr;
    std::uint32_t length = 0;
    std::uint32_t rest = 0;  // behind an EtherType, up to the frame's end or PRP's trailer

    void set_addresses(const std::uint8_t* ethernet) noexcept {
        destination = load_be48(ethernet);
        source = load_be48(ethernet + 6);
    }
};

// Read a frame without an IP packet (L3Type::kNonIp).
[[nodiscard]] inline NonIpFrame non_ip_frame(LinkType link, const std::uint8_t* frame,
                                             std::uint32_t length) noexcept {
    return info_of(link).non_ip(frame, length);
}

// Read the payload of an EtherType other than IP, behind tags and labels, without padding and
// addresses. offset: of the byte behind the EtherType. locate_by_ethertype() says kNonIp.
[[nodiscard]] NonIpFrame non_ip_by_ethertype(std::uint16_t type, const std::uint8_t* frame,
                                             std::uint32_t length, std::uint32_t offset) noexcept;

// Return true if an EtherType is a length (IEEE 802.3). Below 3 there is no room for LLC.
[[nodiscard]] constexpr bool is_length(std::uint16_t type) noexcept {
    return type >= kLlcHeader && type <= kMax8023Length;
}

}  // namespace unecho::packet
