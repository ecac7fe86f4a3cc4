// SPDX-License-Identifier: BSD-3-Clause
// What is compared of a frame without an IP packet: no tags, no labels, no padding. Of each link
// type its row says how (link.h). Hot code: reads only bytes inside the frame.
#pragma once

#include <cstdint>

#include "packets/headers.h"
#include "packets/link.h"

namespace unecho::packet {

struct NonIpFrame {
    // Whose numbers these are: kEthernet also of others with an EtherType that are compared as
    // Ethernet is (802.11), kSll of both cooked ones, kNull of both loopbacks, kWifi of 802.11
    // without an EtherType.
    LinkType kind = LinkType::kUnknown;
    // False: nothing in it tells a copy from the same once more, so it has no key. 802.11 alone.
    bool compared = true;
    // In the order of their bytes. 0 where the link type has none; Linux cooked captures have the
    // sender's alone, and what of it is behind the sixth byte stands in destination.
    std::uint64_t destination = 0;
    std::uint64_t source = 0;
    // What body is, as the NonIpNumber of the kind's row says: behind Ethernet and Linux cooked
    // headers the innermost EtherType, or the length of 802.3; of Cisco HDLC the EtherType, of PPP
    // the protocol, of loopbacks and NFLOG the address family; of kWifi the frame's type
    // (management, control, data, extension); else 0.
    std::uint16_t type = 0;
    bool inner = false;  // the addresses are those of an Ethernet frame inside another one
    // Of redundancy protocols (HSR, IEEE 802.1CB, PRP) the number of the frame, with kNumbered: it
    // tells copies on the other path from the same sent once more.
    static constexpr std::uint32_t kNumbered = 0x1'0000;
    std::uint32_t sequence = 0;
    const std::uint8_t* body = nullptr;
    std::uint32_t length = 0;
    std::uint32_t rest = 0;  // behind an EtherType: all up to the frame's end or to PRP's trailer

    void set_addresses(const std::uint8_t* ethernet) noexcept {
        destination = load_be48(ethernet);
        source = load_be48(ethernet + 6);
    }
};

// Of a frame in which there is no IP packet (L3Type::kNonIp).
[[nodiscard]] inline NonIpFrame non_ip_frame(LinkType link, const std::uint8_t* frame,
                                             std::uint32_t length) noexcept {
    return info_of(link).non_ip(frame, length);
}

// What an EtherType other than IP leads to, behind tags and labels, without padding; no addresses.
// offset is the byte behind the EtherType. Of a frame for which locate_by_ethertype() says kNonIp.
[[nodiscard]] NonIpFrame non_ip_by_ethertype(std::uint16_t type, const std::uint8_t* frame,
                                             std::uint32_t length, std::uint32_t offset) noexcept;

// EtherTypes up to here are lengths (IEEE 802.3); below 3 not even a header of LLC fits.
[[nodiscard]] constexpr bool is_length(std::uint16_t type) noexcept {
    return type >= kLlcHeader && type <= kMax8023Length;
}

}  // namespace unecho::packet
