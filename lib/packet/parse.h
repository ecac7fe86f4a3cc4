// SPDX-License-Identifier: BSD-3-Clause
// Stage parse: from the captured bytes of a burst to its IP packets. This is the one place that
// looks for them; digests, owners, classes, reports and the dissector read what it found, and of a
// packet that was found what they need, on demand: its flow, its traffic class.
//
// Three steps that know nothing of each other, so that each can grow alone:
//   locate  what stands before the IP header: a row for each link type (link.h), tags and labels
//           shared (locate.h)
//   bound   the IP header itself, and where its packet ends
//   flow    addresses, protocol and ports
// The packet is the outermost one.
//
// Hot code: reads only bytes inside the frame, writes nothing to it. Checksums are not looked at. A
// bounded packet lies wholly inside the frame, so later steps need no more than its own length.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/ids.h"
#include "packet/frame.h"
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

// Of one packet: what it is, or why there is none. ip is set where there is one.
struct Parsed {
    Found found;
    IpPacket ip;
};

// Of a burst, four disjoint masks that together name every frame, and where the packets are.
struct ParsedBurst {
    std::uint64_t ipv4 = 0;
    std::uint64_t ipv6 = 0;
    std::uint64_t non_ip = 0;
    std::uint64_t malformed = 0;  // cut short or contradictory, up to the end of the IP header
    std::array<IpPacket, kMaxBurst> ip;

    [[nodiscard]] Found found(std::size_t i) const noexcept {
        const std::uint64_t bit = std::uint64_t{1} << i;
        return (ipv4 & bit) != 0     ? Found::kIpv4
               : (ipv6 & bit) != 0   ? Found::kIpv6
               : (non_ip & bit) != 0 ? Found::kNonIp
                                     : Found::kMalformed;
    }
    [[nodiscard]] Parsed at(std::size_t i) const noexcept { return {found(i), ip[i]}; }
};

// Frames of one link type, at most kMaxBurst. kUnknown: never an IP packet.
void parse_burst(Link link, std::span<const Frame> frames, ParsedBurst& out) noexcept;

// A burst of one.
[[nodiscard]] Parsed parse_frame(Link link, const Frame& frame) noexcept;

inline constexpr unsigned kDscps = 64;

// The differentiated services code point (RFC 2474); kDscps without a packet.
[[nodiscard]] inline unsigned dscp_of(const Parsed& parsed) noexcept {
    switch (parsed.found) {
        case Found::kIpv4:
            return parsed.ip.data[1] >> 2;
        case Found::kIpv6:
            return load_be16(parsed.ip.data) >> 6 & 63;
        case Found::kNonIp:
        case Found::kMalformed:
            break;
    }
    return kDscps;
}

struct FlowFields {
    const std::uint8_t* addresses;  // source, then destination: twice 4 or twice 16 bytes
    std::uint16_t source_port;
    std::uint16_t destination_port;
    std::uint8_t protocol;
};

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
