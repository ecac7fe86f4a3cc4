// SPDX-License-Identifier: BSD-3-Clause
// From captured bytes to the outermost IP packet and its flow fields. Three steps that know nothing
// of each other, so that each can grow alone:
//   locate  what stands before the IP header: a row for each link type (link.h), tags and labels
//           shared (locate.h)
//   bound   the IP header itself, and where its packet ends
//   flow    addresses, protocol and ports
// Hot code: reads only bytes inside the frame, writes nothing. Checksums are not looked at. A
// bounded packet lies wholly inside the frame, so later steps need no more than its own length.
#pragma once

#include <algorithm>
#include <cstdint>

#include "packet/headers.h"
#include "packet/link.h"
#include "packet/locate.h"

namespace unecho::packet {

// From the first byte of the IP header to the IP length or, if that comes first, the end of the
// capture. The header (IPv4 options too) is complete.
struct IpPacket {
    const std::uint8_t* data;
    std::uint32_t length;
};

struct FlowFields {
    const std::uint8_t* addresses;  // source, then destination: twice 4 or twice 16 bytes
    std::uint16_t source_port;
    std::uint16_t destination_port;
    std::uint8_t protocol;
};

// False: no complete IPv4 header, or one that contradicts itself. A total length of 0 stands for
// the captured length (segmentation offload).
[[nodiscard]] inline bool bound_ipv4(const std::uint8_t* data, std::uint32_t available,
                                     IpPacket& ip) noexcept {
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
[[nodiscard]] inline bool bound_ipv6(const std::uint8_t* data, std::uint32_t available,
                                     IpPacket& ip) noexcept {
    if (available < kIpv6Header || data[0] >> 4 != 6) {
        return false;
    }
    const std::uint32_t payload = load_be16(data + 4);
    const bool offloaded = payload == 0 && data[6] != kProtoNoNext;
    ip = {data, offloaded ? available : std::min(kIpv6Header + payload, available)};
    return true;
}

[[nodiscard]] inline Found bound(const Located& at, const std::uint8_t* frame, std::uint32_t length,
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
[[nodiscard]] inline bool find_plain_ipv4(const std::uint8_t* frame, std::uint32_t length,
                                          IpPacket& ip) noexcept {
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

// kIpv4 or kIpv6, and ip is set; or why not. Ethernet, the only link type of the live packet path.
[[nodiscard]] inline Found find_ip(const std::uint8_t* frame, std::uint32_t length,
                                   IpPacket& ip) noexcept {
    return bound(locate_in_ethernet(frame, length), frame, length, ip);
}

// The same for any link type; what the live packet path asks for is inline.
[[nodiscard]] inline Found find_ip(Link link, const std::uint8_t* frame, std::uint32_t length,
                                   IpPacket& ip) noexcept {
    if (link == Link::kEthernet) {
        return find_ip(frame, length, ip);
    }
    std::uint32_t end = length;
    const Located at = info_of(link).locate(frame, end);
    return bound(at, frame, end, ip);
}

inline constexpr unsigned kDscps = 64;

// The differentiated services code point (RFC 2474) of the outermost IP packet; kDscps without one.
[[nodiscard]] inline unsigned read_dscp(Link link, const std::uint8_t* frame,
                                        std::uint32_t length) noexcept {
    IpPacket ip{};
    switch (find_ip(link, frame, length, ip)) {
        case Found::kIpv4:
            return ip.data[1] >> 2;
        case Found::kIpv6:
            return load_be16(ip.data) >> 6 & 63;
        default:
            return kDscps;
    }
}

[[nodiscard]] constexpr bool has_ports(std::uint8_t protocol) noexcept {
    return protocol == kProtoTcp || protocol == kProtoUdp || protocol == kProtoSctp ||
           protocol == kProtoDccp || protocol == kProtoUdpLite;
}

// The ports at offset, if the packet reaches that far.
[[nodiscard]] inline bool read_ports(const IpPacket& ip, std::uint64_t offset,
                                     FlowFields& flow) noexcept {
    if (ip.length < offset + kPorts) {
        return false;
    }
    flow.source_port = load_be16(ip.data + offset);
    flow.destination_port = load_be16(ip.data + offset + 2);
    return true;
}

// The flow of a bounded packet. Protocols without ports and fragments other than the first have
// ports 0. False: extension headers or ports are cut short; flow then holds the addresses, the
// protocol that was reached, and ports 0.
[[nodiscard]] inline bool read_flow_ipv4(const IpPacket& ip, FlowFields& flow) noexcept {
    const bool later_fragment = (load_be16(ip.data + 6) & 0x1FFF) != 0;
    flow = {ip.data + 12, 0, 0, ip.data[9]};
    if (later_fragment || !has_ports(flow.protocol)) {
        return true;
    }
    return read_ports(ip, (ip.data[0] & std::uint64_t{15}) * 4, flow);
}

// The part of read_flow_ipv6 behind the fixed header; flow holds that header's fields.
[[nodiscard]] bool walk_extensions(const IpPacket& ip, FlowFields& flow) noexcept;

[[nodiscard]] inline bool read_flow_ipv6(const IpPacket& ip, FlowFields& flow) noexcept {
    flow = {ip.data + 8, 0, 0, ip.data[6]};
    if (has_ports(flow.protocol)) {
        return read_ports(ip, kIpv6Header, flow);
    }
    return walk_extensions(ip, flow);
}

}  // namespace unecho::packet
