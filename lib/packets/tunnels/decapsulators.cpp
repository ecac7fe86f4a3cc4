// SPDX-License-Identifier: BSD-3-Clause
#include "packets/tunnels/decapsulators.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "packets/headers.h"

namespace unecho::packet {

L3Type parse_ppp(Frame rest, IpPacket& ip) noexcept {
    if (rest.length >= 2 && load_be16(rest.data) == kPppAddressControl) {
        rest = behind(rest, 2);
    }
    const bool compressed = rest.length != 0 && (rest.data[0] & 1) != 0;
    if (!compressed && rest.length < 2) {
        return bound(L3Type::kMalformed, rest, ip);
    }
    const std::uint16_t protocol = compressed ? rest.data[0] : load_be16(rest.data);
    const L3Type found = protocol == kPppIpv4   ? L3Type::kIpv4
                         : protocol == kPppIpv6 ? L3Type::kIpv6
                                                : L3Type::kNonIp;
    return bound(found, behind(rest, compressed ? 1 : 2), ip);
}

namespace {

DecapsulatedPayload by_protocol_type(std::uint16_t type, const Frame& rest,
                                     TenantId tenant) noexcept {
    switch (type) {
        case kTypeEthernet:
            return {PayloadKind::kEthernet, rest, tenant};
        case kEtherIpv4:
            return {PayloadKind::kIpv4, rest, tenant};
        case kEtherIpv6:
            return {PayloadKind::kIpv6, rest, tenant};
        case kEtherMpls:
        case kEtherMplsMulticast:
            return {PayloadKind::kMpls, rest, tenant};
        default:
            return kOther;
    }
}

// In the functions below, payload is the payload of the IP or UDP header before an encapsulation.

constexpr std::uint32_t kVni = 8;  // bits behind the VNI

// RFC 7348, section 5. The group policy extension sets more flags and uses reserved bytes.
DecapsulatedPayload open_vxlan(const Frame& payload, EncapsulationSet) noexcept {
    constexpr std::uint32_t kHeader = 8;
    constexpr std::uint8_t kValidVni = 0x08;
    if (payload.length < kHeader || (payload.data[0] & kValidVni) == 0) {
        return kMalformed;
    }
    return {PayloadKind::kEthernet,
            behind(payload, kHeader),
            {TenantSpace::kVirtualNetwork, load_be32(payload.data + 4) >> kVni}};
}

// draft-ietf-nvo3-vxlan-gpe-13, section 3.
DecapsulatedPayload open_vxlan_gpe(const Frame& payload, EncapsulationSet) noexcept {
    constexpr std::uint32_t kHeader = 8;
    constexpr std::uint8_t kVersion = 0x30;
    constexpr std::uint8_t kValidVni = 0x08;
    constexpr std::uint8_t kNextProtocol = 0x04;
    constexpr std::uint8_t kOam = 0x01;
    if (payload.length < kHeader) {
        return kMalformed;
    }
    const std::uint8_t flags = payload.data[0];
    if ((flags & (kVersion | kOam)) != 0) {
        return kOther;
    }
    TenantId tenant{};
    if ((flags & kValidVni) != 0) {
        tenant = {TenantSpace::kVirtualNetwork, load_be32(payload.data + 4) >> kVni};
    }
    const Frame rest = behind(payload, kHeader);
    switch ((flags & kNextProtocol) != 0 ? payload.data[3] : 3) {
        case 1:
            return {PayloadKind::kIpv4, rest, tenant};
        case 2:
            return {PayloadKind::kIpv6, rest, tenant};
        case 3:
            return {PayloadKind::kEthernet, rest, tenant};
        case 5:
            return {PayloadKind::kMpls, rest, tenant};
        default:  // 4 is NSH
            return kOther;
    }
}

// RFC 8926, section 3.4.
DecapsulatedPayload open_geneve(const Frame& payload, EncapsulationSet) noexcept {
    constexpr std::uint32_t kHeader = 8;
    constexpr std::uint8_t kControl = 0x80;
    if (payload.length < kHeader) {
        return kMalformed;
    }
    if (payload.data[0] >> 6 != 0 || (payload.data[1] & kControl) != 0) {
        return kOther;
    }
    const std::uint32_t header = kHeader + (payload.data[0] & 0x3FU) * 4;
    if (payload.length < header) {
        return kMalformed;
    }
    return by_protocol_type(load_be16(payload.data + 2), behind(payload, header),
                            {TenantSpace::kVirtualNetwork, load_be32(payload.data + 4) >> kVni});
}

// draft-foschiano-erspan-03, section 4. Type I has no header of its own, and no sequence number in
// the GRE header. Type II has a header of version 1. Type III has one of version 2, perhaps
// followed by a platform's header.
DecapsulatedPayload open_erspan(std::uint16_t type, bool sequenced, const Frame& rest) noexcept {
    constexpr std::uint32_t kHeader2 = 8;
    constexpr std::uint32_t kHeader3 = 12;
    constexpr std::uint32_t kPlatform = 8;
    if (type == kTypeErspan) {
        if (!sequenced) {
            return {PayloadKind::kEthernet, rest};
        }
        return rest.length < kHeader2 || rest.data[0] >> 4 != 1
                   ? kMalformed
                   : DecapsulatedPayload{PayloadKind::kEthernet, behind(rest, kHeader2)};
    }
    if (rest.length < kHeader3 || rest.data[0] >> 4 != 2) {
        return kMalformed;
    }
    // P, FT (5 bits), Hw ID (6), D, Gra (2), O
    const std::uint16_t last = load_be16(rest.data + 10);
    const std::uint32_t header = kHeader3 + ((last & 1) != 0 ? kPlatform : 0);
    if (rest.length < header) {
        return kMalformed;
    }
    switch (last >> 10 & 31) {
        case 0:
            return {PayloadKind::kEthernet, behind(rest, header)};
        case 2:
            return {PayloadKind::kIpByVersion, behind(rest, header)};
        default:
            return kOther;
    }
}

// Flags of GRE (RFC 2890, 1701, 2637). Each but the routing flag announces a field of 4 bytes.
constexpr std::uint16_t kGreChecksum = 0x8000;
constexpr std::uint16_t kGreRouting = 0x4000;
constexpr std::uint16_t kGreKey = 0x2000;
constexpr std::uint16_t kGreSequence = 0x1000;
constexpr std::uint16_t kGreAcknowledgment = 0x0080;  // version 1

// GRE version 1 (RFC 2637, section 4.1). The mandatory key holds payload length and call ID. A
// packet without a sequence number only acknowledges and has no payload. There is no checksum.
DecapsulatedPayload open_pptp(std::uint16_t flags, const Frame& payload) noexcept {
    constexpr std::uint32_t kHeader = 12;
    if ((flags & kGreKey) == 0 || (flags & kGreChecksum) != 0) {
        return kMalformed;
    }
    if ((flags & kGreSequence) == 0) {
        return kOther;
    }
    const std::uint32_t header = kHeader + ((flags & kGreAcknowledgment) != 0 ? 4 : 0);
    if (payload.length < header) {
        return kMalformed;
    }
    const Frame rest = behind(payload, header);
    return {PayloadKind::kPpp,
            {rest.data, std::min<std::uint32_t>(rest.length, load_be16(payload.data + 4))},
            {TenantSpace::kPptpCall, load_be16(payload.data + 6)}};
}

// RFC 2784 and 2890.
DecapsulatedPayload open_gre(const Frame& payload, EncapsulationSet listed) noexcept {
    constexpr std::uint32_t kHeader = 4;
    constexpr std::uint32_t kField = 4;  // size of each optional field
    if (payload.length < kHeader) {
        return kMalformed;
    }
    const std::uint16_t flags = load_be16(payload.data);
    const std::uint16_t type = load_be16(payload.data + 2);
    const bool erspan = type == kTypeErspan || type == kTypeErspan3;
    if (!erspan && !listed.has(Encapsulation::kGre)) {
        return kNothingThere;
    }
    const unsigned version = flags & 7;
    const bool point_to_point = version == 1 && type == kTypePpp;
    if ((flags & kGreRouting) != 0 || (version != 0 && !point_to_point)) {
        return kOther;
    }
    if (point_to_point) {
        return open_pptp(flags, payload);
    }
    const auto size_of = [&](std::uint16_t flag) { return (flags & flag) != 0 ? kField : 0; };
    const std::uint32_t key_at = kHeader + size_of(kGreChecksum);
    const std::uint32_t header = key_at + size_of(kGreKey) + size_of(kGreSequence);
    if (payload.length < header) {
        return kMalformed;
    }
    const Frame rest = behind(payload, header);
    if (erspan) {
        if (!listed.has(Encapsulation::kErspan)) {
            return kOther;
        }
        return open_erspan(type, (flags & kGreSequence) != 0, rest);
    }
    TenantId tenant{};
    if ((flags & kGreKey) != 0) {
        tenant = {TenantSpace::kGreKey, load_be32(payload.data + key_at)};
    }
    return by_protocol_type(type, rest, tenant);
}

// 3GPP TS 29.281, section 5: G-PDUs. Any of three flags adds four bytes to the eight, the last of
// which is the type of the first extension header. By 5.2.1, each extension header states its
// length in 4-byte words, and the type of the next one in its last byte.
DecapsulatedPayload open_gtp_u(const Frame& payload, EncapsulationSet) noexcept {
    constexpr std::uint32_t kHeader = 8;
    constexpr std::uint8_t kVersionAndType = 0xF0;  // 3 bits; one that tells GTP from GTP'
    constexpr std::uint8_t kVersion1 = 0x30;
    constexpr std::uint8_t kOptional = 0x07;
    constexpr std::uint8_t kExtensions = 0x04;
    constexpr std::uint8_t kPdu = 255;
    if (payload.length < kHeader) {
        return kMalformed;
    }
    const std::uint8_t flags = payload.data[0];
    if ((flags & kVersionAndType) != kVersion1 || payload.data[1] != kPdu) {
        return kOther;
    }
    const std::uint32_t end =
        std::min<std::uint32_t>(payload.length, kHeader + load_be16(payload.data + 2));
    std::uint32_t at = kHeader + ((flags & kOptional) != 0 ? 4 : 0);
    if (end < at) {
        return kMalformed;
    }
    bool more = (flags & kExtensions) != 0 && payload.data[at - 1] != 0;
    while (more) {
        const std::uint32_t length = at < end ? payload.data[at] * 4U : 0;
        if (length == 0 || end - at < length) {
            return kMalformed;
        }
        at += length;
        more = payload.data[at - 1] != 0;
    }
    return {PayloadKind::kSoundIp,
            {payload.data + at, end - at},
            {TenantSpace::kGtpEndpoint, load_be32(payload.data + 4)}};
}

DecapsulatedPayload open_ipv4(const Frame& payload, EncapsulationSet) noexcept {
    return {PayloadKind::kIpv4, payload};
}

DecapsulatedPayload open_ipv6(const Frame& payload, EncapsulationSet) noexcept {
    return {PayloadKind::kIpv6, payload};
}

DecapsulatedPayload open_mpls(const Frame& payload, EncapsulationSet) noexcept {
    return {PayloadKind::kMpls, payload};
}

// Return true if the packet is hardly an accident: it is sound and ends inside its payload.
bool is_sound(L3Type found, const IpPacket& ip, const Frame& payload) noexcept {
    if (!is_ip(found)) {
        return false;
    }
    const auto room = static_cast<std::uint32_t>(payload.data + payload.length - ip.data);
    const std::uint32_t total =
        found == L3Type::kIpv6 ? kIpv6Header + load_be16(ip.data + 4) : load_be16(ip.data + 2);
    return total != 0 && total <= room && is_sound_ip(ip.data, room);
}

// RFC 3931: the length of the cookie, a sublayer behind it and the kind of payload were agreed
// beforehand. So take the first reading that holds a sound packet.
DecapsulatedPayload open_session(const Frame& payload) noexcept {
    constexpr std::uint32_t kSession = 4;
    if (payload.length < kSession) {
        return kMalformed;
    }
    const std::uint32_t session = load_be32(payload.data);
    if (session == 0) {  // control messages
        return kOther;
    }
    const TenantId tenant{TenantSpace::kL2tpSession, session};
    for (const std::uint32_t cookie : {0U, 4U, 8U}) {
        for (const std::uint32_t sublayer : {0U, 4U}) {
            const std::uint32_t at = kSession + cookie + sublayer;
            if (payload.length < at) {
                continue;
            }
            const Frame rest = behind(payload, at);
            // Accept only a protocol of two bytes, because nothing announces PPP here.
            const bool framed =
                rest.length >= 3 && load_be16(rest.data) == kPppAddressControl && rest.data[2] == 0;
            IpPacket ip;
            if (framed && is_sound(parse_ppp(rest, ip), ip, rest)) {
                return {PayloadKind::kPpp, rest, tenant};
            }
            if (is_sound(parse_ethernet(rest, ip), ip, rest)) {
                return {PayloadKind::kEthernet, rest, tenant};
            }
        }
    }
    return kOther;
}

// RFC 2661, section 3.1, and RFC 3931, section 4.1.2.
DecapsulatedPayload open_l2tp(const Frame& payload, EncapsulationSet) noexcept {
    constexpr std::uint16_t kControl = 0x8000;
    constexpr std::uint16_t kLength = 0x4000;
    constexpr std::uint16_t kSequence = 0x0800;
    constexpr std::uint16_t kOffset = 0x0200;
    if (payload.length < 2) {
        return kMalformed;
    }
    const std::uint16_t flags = load_be16(payload.data);
    const unsigned version = flags & 15;
    if ((flags & kControl) != 0 || (version != 2 && version != 3)) {
        return kOther;
    }
    if (version == 3) {
        return payload.length < 4 ? kMalformed : open_session(behind(payload, 4));
    }
    const std::uint32_t ids_at = (flags & kLength) != 0 ? 4 : 2;
    std::uint32_t at = ids_at + 4 + ((flags & kSequence) != 0 ? 4 : 0);
    if (payload.length < at + ((flags & kOffset) != 0 ? 2 : 0)) {
        return kMalformed;
    }
    if ((flags & kOffset) != 0) {
        at += 2 + load_be16(payload.data + at);
        if (payload.length < at) {
            return kMalformed;
        }
    }
    std::uint32_t end = payload.length;
    if ((flags & kLength) != 0) {  // the length of the whole message
        end = std::min<std::uint32_t>(end, load_be16(payload.data + 2));
        if (end < at) {
            return kMalformed;
        }
    }
    return {PayloadKind::kPpp,
            {payload.data + at, end - at},
            {TenantSpace::kL2tpSession, load_be32(payload.data + ids_at)}};
}

DecapsulatedPayload open_l2tp_in_ip(const Frame& payload, EncapsulationSet) noexcept {
    return open_session(payload);
}

// RFC 4380, section 5.1.1: authentication, origin, then the packet.
DecapsulatedPayload open_teredo(const Frame& payload, EncapsulationSet) noexcept {
    constexpr std::uint16_t kOrigin = 0x0000;
    constexpr std::uint16_t kAuthentication = 0x0001;
    constexpr std::uint32_t kOriginBytes = 8;
    Frame rest = payload;
    if (rest.length >= 2 && load_be16(rest.data) == kAuthentication) {
        const std::uint32_t bytes = rest.length < 4 ? 4 : 4U + rest.data[2] + rest.data[3] + 8 + 1;
        if (rest.length < bytes) {
            return kMalformed;
        }
        rest = behind(rest, bytes);
    }
    // A single byte that may begin an origin is treated as one.
    if (rest.length >= 2 ? load_be16(rest.data) == kOrigin
                         : rest.length == 1 && rest.data[0] == kOrigin) {
        if (rest.length < kOriginBytes) {
            return kMalformed;
        }
        rest = behind(rest, kOriginBytes);
    }
    if (rest.length == 0) {
        return kMalformed;
    }
    return rest.data[0] >> 4 == 6 ? DecapsulatedPayload{PayloadKind::kSoundIp, rest} : kOther;
}

// Version, type (0: received, 1: to be sent; others have no packet), encapsulation, then fields of
// type, length and data. Padding and the end mark are one byte each.
DecapsulatedPayload open_tzsp(const Frame& payload, EncapsulationSet) noexcept {
    constexpr std::uint32_t kHeader = 4;
    constexpr std::uint16_t kEthernet = 1;
    constexpr std::uint8_t kPadding = 0;
    constexpr std::uint8_t kEnd = 1;
    if (payload.length < kHeader) {
        return kMalformed;
    }
    if (payload.data[0] != 1 || payload.data[1] > 1 || load_be16(payload.data + 2) != kEthernet) {
        return kOther;
    }
    std::uint32_t at = kHeader;
    while (at < payload.length && payload.data[at] != kEnd) {
        const bool padding = payload.data[at] == kPadding;
        if (!padding && payload.length - at < 2) {
            return kMalformed;
        }
        at += padding ? 1U : 2U + payload.data[at + 1];
    }
    return at < payload.length
               ? DecapsulatedPayload{PayloadKind::kEthernet, behind(payload, at + 1)}
               : kMalformed;
}

// Open the identifiers of mirror and session; IP follows, or PPP with address and control.
DecapsulatedPayload open_jmirror(const Frame& payload, EncapsulationSet) noexcept {
    constexpr std::uint32_t kHeader = 8;
    if (payload.length <= kHeader) {
        return kMalformed;
    }
    const Frame rest = behind(payload, kHeader);
    if (rest.length >= 2 && load_be16(rest.data) == kPppAddressControl) {
        return {PayloadKind::kPpp, rest};
    }
    const unsigned version = rest.data[0] >> 4;
    return version == 4 || version == 6 ? DecapsulatedPayload{PayloadKind::kSoundIp, rest} : kOther;
}

// RFC 3378, section 3: version 3 in four bits, then reserved ones. Old senders swapped the bytes or
// the nibbles of this header; nothing tells what they send from damage.
DecapsulatedPayload open_etherip(const Frame& payload, EncapsulationSet) noexcept {
    constexpr std::uint32_t kHeader = 2;
    if (payload.length < kHeader) {
        return kMalformed;
    }
    return payload.data[0] >> 4 == 3
               ? DecapsulatedPayload{PayloadKind::kEthernet, behind(payload, kHeader)}
               : kOther;
}

}  // namespace

constexpr Decapsulator kDecapsulators[] = {
    {Encapsulation::kVxlan, Carrier::kUdp, 4789, false, open_vxlan},  // vxlan_ports also lead here
    {Encapsulation::kVxlan, Carrier::kUdp, 8472, false,
     open_vxlan},  // Linux, before VXLAN had a number
    {Encapsulation::kVxlan, Carrier::kUdp, kIvxlanPort, false, open_vxlan},
    {Encapsulation::kVxlanGpe, Carrier::kUdp, 4790, false, open_vxlan_gpe},
    {Encapsulation::kGeneve, Carrier::kUdp, 6081, false, open_geneve},
    {Encapsulation::kGre, Carrier::kProtocol, 47, false, open_gre},
    {Encapsulation::kErspan, Carrier::kProtocol, 47, false, open_gre},
    {Encapsulation::kGre, Carrier::kUdp, 4754, false, open_gre},
    {Encapsulation::kErspan, Carrier::kUdp, 4754, false, open_gre},
    {Encapsulation::kGtpU, Carrier::kUdp, 2152, false, open_gtp_u},
    {Encapsulation::kIpInIp, Carrier::kProtocol, 4, false, open_ipv4},
    {Encapsulation::kIpInIp, Carrier::kProtocol, 41, false, open_ipv6},
    {Encapsulation::kMpls, Carrier::kProtocol, 137, false, open_mpls},
    {Encapsulation::kMpls, Carrier::kUdp, 6635, false, open_mpls},
    {Encapsulation::kL2tp, Carrier::kUdp, 1701, true, open_l2tp},
    {Encapsulation::kL2tp, Carrier::kProtocol, 115, false, open_l2tp_in_ip},
    {Encapsulation::kTeredo, Carrier::kUdp, 3544, true, open_teredo},
    {Encapsulation::kTzsp, Carrier::kUdp, 37008, false, open_tzsp},
    {Encapsulation::kJmirror, Carrier::kUdp, 30030, false, open_jmirror},
    {Encapsulation::kEtherIp, Carrier::kProtocol, 97, false, open_etherip},
};
static_assert(kDecapsulators[kVxlanDecapsulator].encapsulation == Encapsulation::kVxlan);
static_assert(std::size(kDecapsulators) <= Tunnels::kMaxDecapsulators);

std::span<const Decapsulator> decapsulators() noexcept {
    return kDecapsulators;
}

}  // namespace unecho::packet
