// SPDX-License-Identifier: BSD-3-Clause
#include "packet/parse.h"

#include <tuple>

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

// What an EtherType at the end of a header leads to; offset is the byte behind the header.
NonIpFrame behind_ethertype(std::uint16_t type, const std::uint8_t* frame, std::uint32_t length,
                            std::uint32_t offset) noexcept {
    // What the parser has been through is not cut short.
    std::ignore = skip_tags(frame, length, type, offset);
    if (is_mpls(type)) {
        std::ignore = skip_labels(frame, length, offset);
    }
    return {0, 0, type, frame + offset, length - offset};
}

NonIpFrame non_ip_in_ethernet(const std::uint8_t* frame, std::uint32_t length) noexcept {
    NonIpFrame out =
        behind_ethertype(load_be16(frame + kEthernetHeader - 2), frame, length, kEthernetHeader);
    out.length = is_length(out.type) ? std::min<std::uint32_t>(out.type, out.length)
                                     : without_padding(out.body, out.length);
    out.destination = load_be48(frame);
    out.source = load_be48(frame + 6);
    return out;
}

// type and address: where they stand in the header.
NonIpFrame non_ip_in_cooked(const std::uint8_t* frame, std::uint32_t length, std::uint32_t header,
                            std::uint32_t type, std::uint32_t address) noexcept {
    NonIpFrame out = behind_ethertype(load_be16(frame + type), frame, length, header);
    out.length = without_padding(out.body, out.length);
    out.source = load_be48(frame + address);
    out.destination = load_be16(frame + address + 6);
    return out;
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

Located locate(Link link, const std::uint8_t* frame, std::uint32_t length) noexcept {
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
        case Link::kUnknown:
            break;
    }
    return {Found::kNonIp, 0};
}

NonIpFrame non_ip_frame(Link link, const std::uint8_t* frame, std::uint32_t length) noexcept {
    std::uint32_t offset = 0;
    std::uint16_t type = 0;
    switch (link) {
        case Link::kEthernet:
            return non_ip_in_ethernet(frame, length);
        case Link::kSll:
            return non_ip_in_cooked(frame, length, kSllHeader, 14, 6);
        case Link::kSll2:
            return non_ip_in_cooked(frame, length, kSll2Header, 0, 12);
        case Link::kNull:
        case Link::kLoop:
            offset = kFamilyHeader;
            type = link == Link::kNull && frame[0] != 0 ? frame[0] : frame[3];
            break;
        case Link::kPpp:
            offset = load_be16(frame) == kPppAddressControl ? 4 : 2;
            type = load_be16(frame + offset - 2);
            break;
        case Link::kRaw:
        case Link::kIpv4:
        case Link::kIpv6:
        case Link::kUnknown:
            break;
    }
    return {0, 0, type, frame + offset, length - offset};
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
