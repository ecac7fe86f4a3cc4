// SPDX-License-Identifier: BSD-3-Clause
#include "packet/parse.h"

#include <algorithm>

#include "base/assert.h"

namespace unecho::packet {
namespace {

// False: no complete IPv4 header, or one that contradicts itself. A total length of 0 stands for
// the captured length (segmentation offload).
bool bound_ipv4(const std::uint8_t* data, std::uint32_t available, IpPacket& ip) noexcept {
    if (available < kIpv4MinHeader) {
        return false;
    }
    const std::uint32_t header = (data[0] & 15U) * 4;
    if (data[0] >> 4 != 4 || header < kIpv4MinHeader || available < header) {
        return false;
    }
    const std::uint32_t total = load_be16(data + 2);
    ip = {data, total == 0 ? available : std::min(total, available)};
    return total == 0 || total >= header;
}

// The same for IPv6; a payload length of 0 stands for the captured length unless there is no next
// header (jumbograms, segmentation offload).
bool bound_ipv6(const std::uint8_t* data, std::uint32_t available, IpPacket& ip) noexcept {
    if (available < kIpv6Header || data[0] >> 4 != 6) {
        return false;
    }
    const std::uint32_t payload = load_be16(data + 4);
    const bool offloaded = payload == 0 && data[6] != kProtoNoNext;
    ip = {data, offloaded ? available : std::min(kIpv6Header + payload, available)};
    return true;
}

Found bound(const Located& at, const std::uint8_t* frame, std::uint32_t length,
            IpPacket& ip) noexcept {
    const std::uint8_t* data = frame + at.offset;
    const std::uint32_t available = length - at.offset;
    if (at.found == Found::kIpv4) {
        return bound_ipv4(data, available, ip) ? Found::kIpv4 : Found::kMalformed;
    }
    if (at.found == Found::kIpv6) {
        return bound_ipv6(data, available, ip) ? Found::kIpv6 : Found::kMalformed;
    }
    return at.found;
}

// What most frames are: an IPv4 packet without options right behind the Ethernet header, wholly
// captured. True: ip is set as bound() would set it. False: nothing is known.
bool find_plain_ipv4(const std::uint8_t* frame, std::uint32_t length, IpPacket& ip) noexcept {
    if (length < kEthernetHeader + kIpv4MinHeader) {
        return false;
    }
    // EtherType 0x0800, version 4, five words of header; TOS is not looked at.
    const bool plain = load_be32(frame + kEthernetHeader - 2) >> 8 == 0x080045;
    const std::uint32_t total = load_be16(frame + kEthernetHeader + 2);
    ip = {frame + kEthernetHeader, total};
    // Below 20 the left side is above any frame's length.
    return plain && total - kIpv4MinHeader <= length - kEthernetHeader - kIpv4MinHeader;
}

// The same for IPv6, whole, or offloaded where that is no question.
bool find_plain_ipv6(const std::uint8_t* frame, std::uint32_t length, IpPacket& ip) noexcept {
    if (length < kEthernetHeader + kIpv6Header) {
        return false;
    }
    const bool plain = load_be32(frame + kEthernetHeader - 2) >> 12 == 0x86DD6;
    const std::uint32_t payload = load_be16(frame + kEthernetHeader + 4);
    ip = {frame + kEthernetHeader, kIpv6Header + payload};
    return plain && payload - 1 < length - kEthernetHeader - kIpv6Header;
}

// Without a packet ip is empty.
Found found_or_none(Found found, IpPacket& ip) noexcept {
    if (found != Found::kIpv4 && found != Found::kIpv6) {
        ip = {};
    }
    return found;
}

// Of any link type.
Found find_ip(const LinkInfo& link, const Frame& frame, IpPacket& ip) noexcept {
    std::uint32_t end = frame.length;
    const Located at = link.locate(frame.data, end);
    return found_or_none(bound(at, frame.data, end, ip), ip);
}

// The same for Ethernet, the only link type of the live packet path. Not inline, so that the loop
// over plain packets keeps its registers.
[[gnu::noinline]] Found find_ip_in_ethernet(const Frame& frame, IpPacket& ip) noexcept {
    const Located at = locate_in_ethernet(frame.data, frame.length);
    return found_or_none(bound(at, frame.data, frame.length, ip), ip);
}

struct PlainOrOtherInEthernet {
    Found operator()(const Frame& frame, IpPacket& ip) const noexcept {
        if (find_plain_ipv4(frame.data, frame.length, ip)) {
            return Found::kIpv4;
        }
        return find_plain_ipv6(frame.data, frame.length, ip) ? Found::kIpv6
                                                             : find_ip_in_ethernet(frame, ip);
    }
};

struct InLink {
    Found operator()(const Frame& frame, IpPacket& ip) const noexcept {
        return find_ip(info, frame, ip);
    }
    const LinkInfo& info;
};

// IPv4 is what none of the other masks names.
template <typename Find>
void parse_each(std::span<const Frame> frames, Find find, ParsedBurst& out) noexcept {
    std::uint64_t ipv6 = 0;
    std::uint64_t non_ip = 0;
    std::uint64_t malformed = 0;
    for (std::size_t i = 0; i < frames.size(); ++i) {
        const Found found = find(frames[i], out.ip[i]);
        if (found != Found::kIpv4) {
            ipv6 |= std::uint64_t{found == Found::kIpv6} << i;
            non_ip |= std::uint64_t{found == Found::kNonIp} << i;
            malformed |= std::uint64_t{found == Found::kMalformed} << i;
        }
    }
    const std::uint64_t all = frames.empty() ? 0 : ~std::uint64_t{0} >> (kMaxBurst - frames.size());
    out.ipv4 = all & ~(ipv6 | non_ip | malformed);
    out.ipv6 = ipv6;
    out.non_ip = non_ip;
    out.malformed = malformed;
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

void parse_burst(Link link, std::span<const Frame> frames, ParsedBurst& out) noexcept {
    UNECHO_ASSERT(frames.size() <= kMaxBurst);
    if (link == Link::kEthernet) {
        parse_each(frames, PlainOrOtherInEthernet{}, out);
    } else {
        parse_each(frames, InLink{info_of(link)}, out);
    }
}

Parsed parse_frame(Link link, const Frame& frame) noexcept {
    ParsedBurst one;
    parse_burst(link, {&frame, 1}, one);
    return one.at(0);
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
