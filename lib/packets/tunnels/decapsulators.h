// SPDX-License-Identifier: BSD-3-Clause
// What the header of each encapsulation leads to, and where each is met: a function and a row each.
// For the walk of tunnel_walk.cpp alone, which is why none of it is in tunnels.h.
#pragma once

#include <array>
#include <cstdint>

#include "packets/frame.h"
#include "packets/parse.h"
#include "packets/tunnels/encapsulation.h"
#include "packets/tunnels/tunnels.h"

namespace unecho::packet {

// What comes next: an end, or something that holds a packet.
enum class PayloadKind : std::uint8_t {
    kNothing,  // nothing to look into: this is the innermost packet
    kFragment,
    kMalformed,
    kOther,
    kTooDeep,
    kEthernet,  // from here on: what DecapsulatedPayload::rest begins with
    kIpv4,
    kIpv6,
    kIpByVersion,  // the first nibble says which
    kSoundIp,      // nothing says that it is IP, but a sound header
    kMpls,         // labels
    kPpp,          // address and control fields or not, then the protocol
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

// Protocol types of GRE and GENEVE, beside EtherTypes.
inline constexpr std::uint16_t kTypeEthernet = 0x6558;  // Transparent Ethernet Bridging, RFC 1701
inline constexpr std::uint16_t kTypePpp = 0x880B;       // RFC 2637
inline constexpr std::uint16_t kTypeErspan = 0x88BE;    // types I and II
inline constexpr std::uint16_t kTypeErspan3 = 0x22EB;
inline constexpr std::uint16_t kTypePbb = 0x88E7;

constexpr bool is_ip(L3Type found) noexcept {
    return found == L3Type::kIpv4 || found == L3Type::kIpv6;
}

// Behind address and control fields where they were not left out, of a protocol of two bytes or,
// compressed, one (RFC 1661, section 6.5; RFC 1662, section 3.1).
[[nodiscard]] L3Type parse_ppp(Frame rest, IpPacket& ip) noexcept;

enum class Carrier : std::uint8_t { kProtocol, kUdp };

// GRE's header says only by itself whether ERSPAN follows, so both lead there.
struct Decapsulator {
    Encapsulation encapsulation;
    Carrier carrier;
    std::uint16_t number;
    bool either_side;  // UDP: the source port is as good as the destination's
    DecapsulatedPayload (*open)(const Frame& payload, EncapsulationSet listed) noexcept;
};
inline constexpr std::uint16_t kIvxlanPort = 48879;  // of Cisco's ACI; VXLAN with more flags
// Beside those of the table vxlan_ports lead to the first.
inline constexpr std::uint8_t kVxlanDecapsulator = 0;
extern const std::array<Decapsulator, 18> kDecapsulators;

}  // namespace unecho::packet
