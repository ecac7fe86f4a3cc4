// SPDX-License-Identifier: BSD-3-Clause
// Decapsulators: what follows the header of each encapsulation, and where encapsulations occur. One
// function and one row each. Only tunnel_walk.cpp uses them, so they are not in tunnels.h.
#pragma once

#include <cstdint>
#include <span>

#include "packets/frame.h"
#include "packets/parse.h"
#include "packets/tunnels/encapsulation.h"
#include "packets/tunnels/tunnels.h"

namespace unecho::packet {

// Kind of content behind a header: an end of the walk, or something that holds a packet.
enum class PayloadKind : std::uint8_t {
    kNothing,  // nothing to open: this is the innermost packet
    kFragment,
    kMalformed,
    kOther,
    kTooDeep,
    kEthernet,  // from here on: how DecapsulatedPayload::rest begins
    kIpv4,
    kIpv6,
    kIpByVersion,  // the first nibble tells the version
    kSoundIp,      // not announced as IP, accepted if the header is sound
    kMpls,         // labels
    kPpp,          // the protocol, with or without address and control bytes before it
};

constexpr bool leads_on(PayloadKind next) noexcept {
    return next >= PayloadKind::kEthernet;
}

struct DecapsulatedPayload {
    PayloadKind next;
    Frame rest{};
    TenantId tenant{};
};

inline constexpr DecapsulatedPayload kMalformed{PayloadKind::kMalformed};
inline constexpr DecapsulatedPayload kOther{PayloadKind::kOther};
inline constexpr DecapsulatedPayload kNothingThere{PayloadKind::kNothing};

constexpr Frame behind(const Frame& frame, std::uint32_t bytes) noexcept {
    return {frame.data + bytes, frame.length - bytes};
}

// Protocol types of GRE and GENEVE, in addition to EtherTypes.
inline constexpr std::uint16_t kTypeEthernet = 0x6558;  // Transparent Ethernet Bridging, RFC 1701
inline constexpr std::uint16_t kTypePpp = 0x880B;       // RFC 2637
inline constexpr std::uint16_t kTypeErspan = 0x88BE;    // types I and II
inline constexpr std::uint16_t kTypeErspan3 = 0x22EB;
inline constexpr std::uint16_t kTypePbb = 0x88E7;

constexpr bool is_ip(L3Type found) noexcept {
    return found == L3Type::kIpv4 || found == L3Type::kIpv6;
}

// Parse PPP: address and control bytes unless left out, then a protocol of two bytes, or of one if
// compressed (RFC 1661, section 6.5; RFC 1662, section 3.1).
[[nodiscard]] L3Type parse_ppp(Frame rest, IpPacket& ip) noexcept;

enum class Carrier : std::uint8_t { kProtocol, kUdp };

// A row. Only GRE's header shows whether ERSPAN follows, so both have the same number and function.
struct Decapsulator {
    Encapsulation encapsulation;
    Carrier carrier;
    std::uint16_t number;
    bool either_side;  // UDP: the source port may match instead of the destination port
    DecapsulatedPayload (*open)(const Frame& payload, EncapsulationSet listed) noexcept;
};
inline constexpr std::uint16_t kIvxlanPort = 48879;  // Cisco ACI; VXLAN with more flags
// The first row, which vxlan_ports also lead to.
inline constexpr std::uint8_t kVxlanDecapsulator = 0;
extern const Decapsulator kDecapsulators[];
[[nodiscard]] std::span<const Decapsulator> decapsulators() noexcept;

}  // namespace unecho::packet
