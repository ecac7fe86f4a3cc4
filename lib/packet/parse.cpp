// SPDX-License-Identifier: BSD-3-Clause
#include "packet/parse.h"

#include <tuple>

#include "packet/wifi.h"

namespace unecho::packet {
namespace {

constexpr bool is_tag(std::uint16_t type) noexcept {
    return type == kEtherVlan || type == kEtherQinq || type == kEtherQinq91 || type == kEtherQinq92;
}

constexpr std::uint16_t kEtherPppoe = 0x8864;  // sessions, RFC 2516

constexpr bool is_mpls(std::uint16_t type) noexcept {
    return type == kEtherMpls || type == kEtherMplsMulticast;
}

// Behind VLAN tags, with the EtherType that the last one says; false: cut short.
bool skip_tags(const std::uint8_t* frame, std::uint32_t length, std::uint16_t& type,
               std::uint32_t& offset) noexcept {
    while (is_tag(type)) {
        if (length - offset < kTag) {
            return false;
        }
        type = load_be16(frame + offset + 2);
        offset += kTag;
    }
    return true;
}

// Behind the last label; false: cut short.
bool skip_labels(const std::uint8_t* frame, std::uint32_t length, std::uint32_t& offset) noexcept {
    bool bottom = false;
    while (!bottom) {
        if (length - offset < kTag) {
            return false;
        }
        bottom = (frame[offset + 2] & 1) != 0;
        offset += kTag;
    }
    return true;
}

// What the first nibble of an IP header says; other is what it is with any other nibble.
Located locate_by_version(const std::uint8_t* frame, std::uint32_t length, std::uint32_t offset,
                          Found other) noexcept {
    if (offset == length) {
        return {Found::kMalformed, offset};
    }
    switch (frame[offset] >> 4) {
        case 4:
            return {Found::kIpv4, offset};
        case 6:
            return {Found::kIpv6, offset};
        default:
            return {other, offset};
    }
}

// Below the last label nothing says what follows; as routers do, the first nibble decides
// (RFC 4928, section 2).
Located locate_below_mpls(const std::uint8_t* frame, std::uint32_t length,
                          std::uint32_t offset) noexcept {
    if (!skip_labels(frame, length, offset)) {
        return {Found::kMalformed, offset};
    }
    return locate_by_version(frame, length, offset, Found::kNonIp);
}

Located locate_raw(const std::uint8_t* frame, std::uint32_t length) noexcept {
    return locate_by_version(frame, length, 0, Found::kMalformed);
}

Located locate_by_family(std::uint8_t family) noexcept {
    switch (family) {
        case kFamilyIpv4:
            return {Found::kIpv4, kFamilyHeader};
        case kFamilyIpv6Linux:
        case kFamilyIpv6Bsd:
        case kFamilyIpv6FreeBsd:
        case kFamilyIpv6Darwin:
            return {Found::kIpv6, kFamilyHeader};
        default:
            return {Found::kNonIp, kFamilyHeader};
    }
}

// Families are below 256, so the byte that is not 0 is the lowest.
Located locate_in_null(const std::uint8_t* frame, std::uint32_t length) noexcept {
    if (length < kFamilyHeader) {
        return {Found::kMalformed, 0};
    }
    return locate_by_family(frame[0] != 0 ? frame[0] : frame[3]);
}

Located locate_in_loop(const std::uint8_t* frame, std::uint32_t length) noexcept {
    if (length < kFamilyHeader) {
        return {Found::kMalformed, 0};
    }
    return locate_by_family(frame[3]);
}

// The PPP protocol is at offset.
Located locate_by_ppp(const std::uint8_t* frame, std::uint32_t length,
                      std::uint32_t offset) noexcept {
    if (length - offset < 2) {
        return {Found::kMalformed, offset};
    }
    switch (load_be16(frame + offset)) {
        case kPppIpv4:
            return {Found::kIpv4, offset + 2};
        case kPppIpv6:
            return {Found::kIpv6, offset + 2};
        default:
            return {Found::kNonIp, offset + 2};
    }
}

Located locate_in_ppp(const std::uint8_t* frame, std::uint32_t length) noexcept {
    const bool framed = length >= 2 && load_be16(frame) == kPppAddressControl;
    return locate_by_ppp(frame, length, framed ? 2 : 0);
}

// Version, type, code, session and length, none of which says where an IP packet ends.
Located locate_in_pppoe(const std::uint8_t* frame, std::uint32_t length,
                        std::uint32_t offset) noexcept {
    constexpr std::uint32_t kPppoeHeader = 6;
    if (length - offset < kPppoeHeader) {
        return {Found::kMalformed, offset};
    }
    return locate_by_ppp(frame, length, offset + kPppoeHeader);
}

// Ends with an EtherType.
Located locate_in_sll(const std::uint8_t* frame, std::uint32_t length) noexcept {
    if (length < kSllHeader) {
        return {Found::kMalformed, 0};
    }
    return locate_by_ethertype(load_be16(frame + kSllHeader - 2), frame, length, kSllHeader);
}

// Begins with an EtherType.
Located locate_in_sll2(const std::uint8_t* frame, std::uint32_t length) noexcept {
    if (length < kSll2Header) {
        return {Found::kMalformed, 0};
    }
    return locate_by_ethertype(load_be16(frame), frame, length, kSll2Header);
}

// Address and control, then an EtherType.
Located locate_in_hdlc(const std::uint8_t* frame, std::uint32_t length) noexcept {
    if (length < kHdlcHeader) {
        return {Found::kMalformed, 0};
    }
    return locate_by_ethertype(load_be16(frame + 2), frame, length, kHdlcHeader);
}

// Network layer protocol identifiers (RFC 2427), and what begins them.
constexpr std::uint8_t kUnnumbered = 0x03;
constexpr std::uint8_t kNlpidSnap = 0x80;
constexpr std::uint8_t kNlpidIpv6 = 0x8E;
constexpr std::uint8_t kNlpidIpv4 = 0xCC;
constexpr std::uint8_t kNlpidPpp = 0xCF;

// Behind NLPID 0x80: an OUI, which is 0 before an EtherType. Bridged frames are none of IP.
Located locate_by_snap(const std::uint8_t* frame, std::uint32_t length,
                       std::uint32_t offset) noexcept {
    constexpr std::uint32_t kOuiAndType = 5;
    if (length - offset < kOuiAndType) {
        return {Found::kMalformed, offset};
    }
    const std::uint32_t organisation = load_be32(frame + offset) >> 8;
    return organisation != 0 ? Located{Found::kNonIp, offset}
                             : locate_by_ethertype(load_be16(frame + offset + 3), frame, length,
                                                   offset + kOuiAndType);
}

// The NLPID is at offset, and is there.
Located locate_by_nlpid(const std::uint8_t* frame, std::uint32_t length,
                        std::uint32_t offset) noexcept {
    const std::uint8_t nlpid = frame[offset++];
    switch (nlpid) {
        case kNlpidIpv4:
            return {Found::kIpv4, offset};
        case kNlpidIpv6:
            return {Found::kIpv6, offset};
        case kNlpidPpp:
            return locate_by_ppp(frame, length, offset);
        case kNlpidSnap:
            return locate_by_snap(frame, length, offset);
        default:
            return {Found::kNonIp, offset};
    }
}

// Two to four bytes of address, of which the last one has its lowest bit set (Q.922); then control
// and NLPID, or an EtherType.
Located locate_in_frame_relay(const std::uint8_t* frame, std::uint32_t length) noexcept {
    std::uint32_t offset = 0;
    do {
        if (offset == length || offset == 4) {
            return {Found::kMalformed, offset};
        }
    } while ((frame[offset++] & 1) == 0);
    if (offset < 2 || length - offset < 2) {
        return {Found::kMalformed, offset};
    }
    if (frame[offset] != kUnnumbered) {
        return locate_by_ethertype(load_be16(frame + offset), frame, length, offset + 2);
    }
    offset += frame[offset + 1] == 0 ? 2 : 1;  // a zero may stand before the NLPID
    return offset == length ? Located{Found::kMalformed, offset}
                            : locate_by_nlpid(frame, length, offset);
}

// Family, version and resource; then fields of length and type, aligned to 4 bytes, in the byte
// order of the host, which is read as little-endian. The packet is that of type 9.
Located locate_in_nflog(const std::uint8_t* frame, std::uint32_t& length) noexcept {
    constexpr std::uint32_t kPayload = 9;
    if (length < kNflogHeader) {
        return {Found::kMalformed, 0};
    }
    const Found found = frame[0] == kFamilyIpv4        ? Found::kIpv4
                        : frame[0] == kFamilyIpv6Linux ? Found::kIpv6
                                                       : Found::kNonIp;
    std::uint32_t at = kNflogHeader;
    while (found != Found::kNonIp) {
        const std::uint32_t size = length - at < 4 ? 0 : load_le16(frame + at);
        if (size < 4) {
            return {Found::kMalformed, 0};
        }
        if ((load_le16(frame + at + 2) & 0x7FFF) == kPayload) {
            length = std::min(length, at + size);
            return {found, at + 4};
        }
        at = std::min(length, at + (size + 3) / 4 * 4);
    }
    return {Found::kNonIp, 0};
}

// A shortest frame is padded with zeros, and a copy that gained or lost tags with fewer or more:
// zeros at the end count only where the frame would be longer than that without its tags.
std::uint32_t without_padding(const std::uint8_t* body, std::uint32_t length) noexcept {
    if (length > kLeastPayload) {
        return length;
    }
    while (length > 0 && body[length - 1] == 0) {
        --length;
    }
    return length;
}

// Up to the end of the frame, padding too.
std::uint32_t rest_of(const std::uint8_t* frame, std::uint32_t length,
                      const std::uint8_t* body) noexcept {
    return length - static_cast<std::uint32_t>(body - frame);
}

NonIpFrame non_ip_in_ethernet(const std::uint8_t* frame, std::uint32_t length) noexcept {
    NonIpFrame out =
        non_ip_by_ethertype(load_be16(frame + kEthernetHeader - 2), frame, length, kEthernetHeader);
    if (is_length(out.type)) {
        out.length = std::min<std::uint32_t>(out.type, rest_of(frame, length, out.body));
    }
    out.destination = load_be48(frame);
    out.source = load_be48(frame + 6);
    return out;
}

// type and address: where they stand in the header.
NonIpFrame non_ip_in_cooked(const std::uint8_t* frame, std::uint32_t length, std::uint32_t header,
                            std::uint32_t type, std::uint32_t address) noexcept {
    NonIpFrame out = non_ip_by_ethertype(load_be16(frame + type), frame, length, header);
    out.kind = Link::kSll;
    out.source = load_be48(frame + address);
    out.destination = load_be16(frame + address + 6);
    return out;
}

// Serial lines pad nothing. The address says no more than that all may hear it.
NonIpFrame non_ip_in_hdlc(const std::uint8_t* frame, std::uint32_t length) noexcept {
    NonIpFrame out = non_ip_by_ethertype(load_be16(frame + 2), frame, length, kHdlcHeader);
    out.kind = Link::kHdlc;
    out.length = rest_of(frame, length, out.body);
    return out;
}

// The protocol is behind address and control, if these are there.
NonIpFrame non_ip_in_ppp(const std::uint8_t* frame, std::uint32_t length) noexcept {
    const std::uint32_t offset = load_be16(frame) == kPppAddressControl ? 4 : 2;
    return {.kind = Link::kPpp,
            .type = load_be16(frame + offset - 2),
            .body = frame + offset,
            .length = length - offset};
}

NonIpFrame non_ip_by_family(Link kind, std::uint8_t family, const std::uint8_t* frame,
                            std::uint32_t length) noexcept {
    return {.kind = kind,
            .type = family,
            .body = frame + kFamilyHeader,
            .length = length - kFamilyHeader};
}

// Headers whose second byte counts 8-byte units beyond the first 8.
constexpr bool is_plain_extension(std::uint8_t next) noexcept {
    return next == kProtoHopByHop || next == kProtoRouting || next == kProtoDestination ||
           next == kProtoMobility || next == kProtoHip || next == kProtoShim6;
}

constexpr bool is_extension(std::uint8_t next) noexcept {
    return is_plain_extension(next) || next == kProtoFragment || next == kProtoAh;
}

// RFC 8200 section 4, RFC 4302 section 2.2 (AH counts 4-byte units less 2).
std::uint64_t extension_size(std::uint8_t type, std::uint8_t length_field) noexcept {
    if (type == kProtoFragment) {
        return 8;
    }
    return type == kProtoAh ? (length_field + std::uint64_t{2}) * 4
                            : (length_field + std::uint64_t{1}) * 8;
}

}  // namespace

Located locate_by_ethertype(std::uint16_t type, const std::uint8_t* frame, std::uint32_t length,
                            std::uint32_t offset) noexcept {
    if (!skip_tags(frame, length, type, offset)) {
        return {Found::kMalformed, offset};
    }
    switch (type) {
        case kEtherIpv4:
            return {Found::kIpv4, offset};
        case kEtherIpv6:
            return {Found::kIpv6, offset};
        case kEtherMpls:
        case kEtherMplsMulticast:
            return locate_below_mpls(frame, length, offset);
        case kEtherPppoe:
            return locate_in_pppoe(frame, length, offset);
        default:
            return {Found::kNonIp, offset};
    }
}

NonIpFrame non_ip_by_ethertype(std::uint16_t type, const std::uint8_t* frame, std::uint32_t length,
                               std::uint32_t offset) noexcept {
    // What the parser has been through is not cut short.
    std::ignore = skip_tags(frame, length, type, offset);
    if (is_mpls(type)) {
        std::ignore = skip_labels(frame, length, offset);
    }
    const std::uint8_t* const body = frame + offset;
    return {.kind = Link::kEthernet,
            .type = type,
            .body = body,
            .length = without_padding(body, length - offset)};
}

Located locate(Link link, const std::uint8_t* frame, std::uint32_t& length) noexcept {
    switch (link) {
        case Link::kEthernet:
            return locate_in_ethernet(frame, length);
        case Link::kRaw:
            return locate_raw(frame, length);
        case Link::kIpv4:
            return {Found::kIpv4, 0};
        case Link::kIpv6:
            return {Found::kIpv6, 0};
        case Link::kNull:
            return locate_in_null(frame, length);
        case Link::kLoop:
            return locate_in_loop(frame, length);
        case Link::kPpp:
            return locate_in_ppp(frame, length);
        case Link::kSll:
            return locate_in_sll(frame, length);
        case Link::kSll2:
            return locate_in_sll2(frame, length);
        case Link::kWifi:
        case Link::kRadiotap:
        case Link::kPpi:
        case Link::kAvs:
            return locate_in_wifi(link, frame, length);
        case Link::kHdlc:
            return locate_in_hdlc(frame, length);
        case Link::kFrameRelay:
            return locate_in_frame_relay(frame, length);
        case Link::kNflog:
            return locate_in_nflog(frame, length);
        case Link::kUnknown:
            break;
    }
    return {Found::kNonIp, 0};
}

NonIpFrame non_ip_frame(Link link, const std::uint8_t* frame, std::uint32_t length) noexcept {
    switch (link) {
        case Link::kEthernet:
            return non_ip_in_ethernet(frame, length);
        case Link::kSll:
            return non_ip_in_cooked(frame, length, kSllHeader, 14, 6);
        case Link::kSll2:
            return non_ip_in_cooked(frame, length, kSll2Header, 0, 12);
        case Link::kNull:
        case Link::kLoop: {
            const bool swapped = link == Link::kNull && frame[0] != 0;
            return non_ip_by_family(Link::kNull, swapped ? frame[0] : frame[3], frame, length);
        }
        case Link::kNflog:
            return non_ip_by_family(link, frame[0], frame, length);
        case Link::kPpp:
            return non_ip_in_ppp(frame, length);
        case Link::kWifi:
        case Link::kRadiotap:
        case Link::kPpi:
        case Link::kAvs:
            return non_ip_in_wifi(link, frame, length);
        case Link::kHdlc:
            return non_ip_in_hdlc(frame, length);
        case Link::kRaw:
        case Link::kIpv4:
        case Link::kIpv6:
        case Link::kFrameRelay:
        case Link::kUnknown:
            break;
    }
    return {.kind = link, .body = frame, .length = length};
}

bool walk_extensions(const IpPacket& ip, FlowFields& flow) noexcept {
    std::uint64_t at = kIpv6Header;  // 64 bits: a header may claim to end beyond any frame
    bool later_fragment = false;
    while (!later_fragment && is_extension(flow.protocol)) {
        if (ip.length < at + 8) {
            return false;
        }
        const std::uint8_t* header = ip.data + at;
        later_fragment = flow.protocol == kProtoFragment && (load_be16(header + 2) & 0xFFF8) != 0;
        at += extension_size(flow.protocol, header[1]);
        flow.protocol = header[0];
    }
    if (ip.length < at) {
        return false;
    }
    if (later_fragment || !has_ports(flow.protocol)) {
        return true;
    }
    return read_ports(ip, at, flow);
}

}  // namespace unecho::packet
