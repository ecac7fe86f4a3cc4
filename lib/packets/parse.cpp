// SPDX-License-Identifier: BSD-3-Clause
#include "packets/parse.h"

#include <algorithm>
#include <bit>

#include "base/assert.h"

namespace unecho::packet {
namespace {

// Return false if the IPv4 header is incomplete or contradicts itself. A total length of 0 stands
// for the captured length (segmentation offload).
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

// Return false if the IPv6 header is incomplete. A payload length of 0 stands for the captured
// length (jumbograms, segmentation offload), unless the header says that nothing follows it.
bool bound_ipv6(const std::uint8_t* data, std::uint32_t available, IpPacket& ip) noexcept {
    if (available < kIpv6Header || data[0] >> 4 != 6) {
        return false;
    }
    const std::uint32_t payload = load_be16(data + 4);
    const bool offloaded = payload == 0 && data[6] != kProtoNoNext;
    ip = {data, offloaded ? available : std::min(kIpv6Header + payload, available)};
    return true;
}

// Fast path for most frames: an IPv4 packet without options right behind the Ethernet header,
// wholly captured, with room for ports. If true, ip is as bound() would set it.
bool find_plain_ipv4(const std::uint8_t* frame, std::uint32_t length, IpPacket& ip) noexcept {
    constexpr std::uint32_t kLeast = kIpv4MinHeader + kPorts;
    if (length < kEthernetHeader + kLeast) {
        return false;
    }
    // EtherType 0x0800, version 4, a header of five words; TOS is ignored.
    const bool plain = load_be32(frame + kEthernetHeader - 2) >> 8 == 0x080045;
    const std::uint32_t total = load_be16(frame + kEthernetHeader + 2);
    ip = {frame + kEthernetHeader, total};
    // If total is below kLeast, the left side wraps around and exceeds the length of any frame.
    return plain && total - kLeast <= length - kEthernetHeader - kLeast;
}

// Likewise for IPv6, wholly captured. A payload length of 0 wraps around and is left to bound().
bool find_plain_ipv6(const std::uint8_t* frame, std::uint32_t length, IpPacket& ip) noexcept {
    if (length < kEthernetHeader + kIpv6Header) {
        return false;
    }
    const bool plain = load_be32(frame + kEthernetHeader - 2) >> 12 == 0x86DD6;
    const std::uint32_t payload = load_be16(frame + kEthernetHeader + 4);
    ip = {frame + kEthernetHeader, kIpv6Header + payload};
    return plain && payload - 1 < length - kEthernetHeader - kIpv6Header;
}

L3Type found_at(const Located& at, const std::uint8_t* frame, std::uint32_t end,
                IpPacket& ip) noexcept {
    return bound(at.found, {frame + at.offset, end - at.offset}, ip);
}

L3Type find_ip(const LinkInfo& link, const Frame& frame, IpPacket& ip) noexcept {
    std::uint32_t end = frame.length;
    const Located at = link.locate(frame.data, end);
    return found_at(at, frame.data, end, ip);
}

// Find the packet in an Ethernet frame, the only link type of live traffic. Not inlined, so that
// the loop over plain packets keeps its registers.
[[gnu::noinline]] L3Type find_ip_in_ethernet(const Frame& frame, IpPacket& ip) noexcept {
    return found_at(locate_in_ethernet(frame.data, frame.length), frame.data, frame.length, ip);
}

// Recorder for parse_each() that records nothing; NextHeaders is the other one.
struct NoNotes {
    void note_plain_ipv4(std::size_t, const IpPacket&) const noexcept {}
    void note(std::size_t, L3Type, const IpPacket&) const noexcept {}
};

struct PlainOrOtherInEthernet {
    template <typename Notes>
    L3Type operator()(const Frame& frame, IpPacket& ip, std::size_t i,
                      Notes& notes) const noexcept {
        if (find_plain_ipv4(frame.data, frame.length, ip)) {
            notes.note_plain_ipv4(i, ip);
            return L3Type::kIpv4;
        }
        const L3Type found = find_plain_ipv6(frame.data, frame.length, ip)
                                 ? L3Type::kIpv6
                                 : find_ip_in_ethernet(frame, ip);
        notes.note(i, found, ip);
        return found;
    }
};

struct InLink {
    template <typename Notes>
    L3Type operator()(const Frame& frame, IpPacket& ip, std::size_t i,
                      Notes& notes) const noexcept {
        const L3Type found = find_ip(info, frame, ip);
        notes.note(i, found, ip);
        return found;
    }
    const LinkInfo& info;
};

// Parse frame by frame. IPv4 packets are those that no other mask names.
template <typename Find, typename Notes>
void parse_each(std::span<const Frame> frames, Find find, ParsedBurst& out, Notes& notes) noexcept {
    std::uint64_t ipv6 = 0;
    std::uint64_t non_ip = 0;
    std::uint64_t malformed = 0;
    for (std::size_t i = 0; i < frames.size(); ++i) {
        const L3Type found = find(frames[i], out.ip[i], i, notes);
        if (found != L3Type::kIpv4) {
            ipv6 |= std::uint64_t{found == L3Type::kIpv6} << i;
            non_ip |= std::uint64_t{found == L3Type::kNonIp} << i;
            malformed |= std::uint64_t{found == L3Type::kMalformed} << i;
        }
    }
    const std::uint64_t all = frames.empty() ? 0 : ~std::uint64_t{0} >> (kMaxBurst - frames.size());
    out.ipv4 = all & ~(ipv6 | non_ip | malformed);
    out.ipv6 = ipv6;
    out.non_ip = non_ip;
    out.malformed = malformed;
}

template <typename Notes>
void parse_noting(LinkType link, std::span<const Frame> frames, ParsedBurst& out,
                  Notes& notes) noexcept {
    UNECHO_ASSERT(frames.size() <= kMaxBurst);
    if (link == LinkType::kEthernet) {
        parse_each(frames, PlainOrOtherInEthernet{}, out, notes);
    } else {
        parse_each(frames, InLink{info_of(link)}, out, notes);
    }
}

// Return true for headers whose second byte is their length in 8-byte units beyond the first 8.
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

void parse_burst(LinkType link, std::span<const Frame> frames, ParsedBurst& out) noexcept {
    NoNotes none;
    parse_noting(link, frames, out, none);
}

void parse_burst(LinkType link, std::span<const Frame> frames, ParsedBurst& out,
                 NextHeaders& next) noexcept {
    parse_noting(link, frames, out, next);
}

void cut_packets(ParsedBurst& parsed, std::uint32_t bytes) noexcept {
    for (std::uint64_t rest = parsed.ipv4 | parsed.ipv6; rest != 0; rest &= rest - 1) {
        IpPacket& ip = parsed.ip[static_cast<std::size_t>(std::countr_zero(rest))];
        ip.length = std::min(ip.length, bytes);
    }
}

Parsed parse_frame(LinkType link, const Frame& frame) noexcept {
    ParsedBurst one;
    parse_burst(link, {&frame, 1}, one);
    return one.at(0);
}

L3Type parse_ethernet(const Frame& frame, IpPacket& ip) noexcept {
    NoNotes none;
    return PlainOrOtherInEthernet{}(frame, ip, 0, none);
}

L3Type bound(L3Type announced, const Frame& rest, IpPacket& ip) noexcept {
    L3Type found = announced;
    if (announced == L3Type::kIpv4) {
        found = bound_ipv4(rest.data, rest.length, ip) ? announced : L3Type::kMalformed;
    } else if (announced == L3Type::kIpv6) {
        found = bound_ipv6(rest.data, rest.length, ip) ? announced : L3Type::kMalformed;
    }
    if (found != L3Type::kIpv4 && found != L3Type::kIpv6) {
        ip = {};
    }
    return found;
}

Upper upper_of_ipv6(const IpPacket& ip) noexcept {
    Upper upper{kIpv6Header, ip.data[6], false, false, true};
    while (!upper.later_fragment && is_extension(upper.protocol)) {
        if (ip.length < upper.offset + 8) {
            upper.whole = false;
            return upper;
        }
        const std::uint8_t* header = ip.data + upper.offset;
        if (upper.protocol == kProtoFragment) {
            upper.fragment |= (load_be16(header + 2) & 0xFFF9) != 0;
            upper.later_fragment = (load_be16(header + 2) & 0xFFF8) != 0;
        }
        upper.offset += extension_size(upper.protocol, header[1]);
        upper.protocol = header[0];
    }
    upper.whole = ip.length >= upper.offset;
    return upper;
}

bool walk_extensions(const IpPacket& ip, FlowFields& flow) noexcept {
    const Upper upper = upper_of_ipv6(ip);
    flow.protocol = upper.protocol;
    if (!upper.whole) {
        return false;
    }
    if (upper.later_fragment || !has_ports(flow.protocol)) {
        return true;
    }
    return read_ports(ip, upper.offset, flow);
}

}  // namespace unecho::packet
