// SPDX-License-Identifier: BSD-3-Clause
// Module packets: from the captured bytes of a burst to its IP packets, keys and digests.
//
// Stage parse is the only place that looks for IP packets. Digests, owners, traffic classes and
// reports read its results. Its three steps are independent:
//   locate  what precedes the IP header: a row for each link type (link.h), tags and labels shared
//   bound   the IP header itself, and where its packet ends
//   flow    addresses, protocol and ports, on demand
// It finds the outermost packet; decapsulate_burst() (tunnels/tunnels.h) goes on to the innermost.
//
// Hot code: reads only bytes inside the frame, writes nothing to it. Checksums are verified only
// where nothing announces IP (is_sound_ip()). A bounded packet lies wholly inside the frame, so
// later steps check against its length alone. The module may use base and filters/hash; it knows no
// mbufs, ports or files.
//
// Next: keys/key.h (what "the same packet" means), keys/digests.h (keys to digests),
// keys/observation.h (where a packet was seen), keys/cause.h (how an echo differs).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/ids.h"
#include "packets/frame.h"
#include "packets/headers.h"
#include "packets/link.h"
#include "packets/locate.h"

namespace unecho::packet {

// An IP packet: from the first byte of its header to its IP length, or to the end of the captured
// bytes if that comes first. The header, with IPv4 options, is complete.
struct IpPacket {
    const std::uint8_t* data;
    std::uint32_t length;
};

// Result for one frame: what it holds, and the packet if there is one.
struct Parsed {
    L3Type found;
    IpPacket ip;
};

// Result for a burst: four disjoint masks that together name every frame, and the packets.
struct ParsedBurst {
    std::uint64_t ipv4 = 0;
    std::uint64_t ipv6 = 0;
    std::uint64_t non_ip = 0;
    std::uint64_t malformed = 0;  // truncated or contradictory, up to the end of the IP header
    std::array<IpPacket, kMaxBurst> ip;

    [[nodiscard]] L3Type found(std::size_t i) const noexcept {
        const std::uint64_t bit = std::uint64_t{1} << i;
        return (ipv4 & bit) != 0     ? L3Type::kIpv4
               : (ipv6 & bit) != 0   ? L3Type::kIpv6
               : (non_ip & bit) != 0 ? L3Type::kNonIp
                                     : L3Type::kMalformed;
    }
    [[nodiscard]] Parsed at(std::size_t i) const noexcept { return {found(i), ip[i]}; }
};

// For each packet of a burst, the protocol field of the fixed header and the bytes where ports
// would be. Entries without a packet, and those behind the last, are undefined.
struct NextHeaders {
    alignas(32) std::array<std::uint8_t, kMaxBurst> protocols;
    // Source and destination port in memory order; other bytes if the ports were cut off.
    alignas(32) std::array<std::uint32_t, kMaxBurst> ports;

    // Record an IPv4 packet without options that reaches to the end of its ports.
    void note_plain_ipv4(std::size_t i, const IpPacket& ip) noexcept {
        protocols[i] = ip.data[9];
        ports[i] = load_le32(ip.data + kIpv4MinHeader);
    }
    void note(std::size_t i, L3Type found, const IpPacket& ip) noexcept {
        if (found == L3Type::kIpv4) {
            note(i, ip, ip.data[9], (ip.data[0] & std::uint32_t{15}) * 4);
        } else if (found == L3Type::kIpv6) {
            note(i, ip, ip.data[6], kIpv6Header);
        }
    }

  private:
    void note(std::size_t i, const IpPacket& ip, std::uint8_t protocol, std::uint32_t at) noexcept {
        protocols[i] = protocol;
        ports[i] = load_le32(ip.data + (ip.length >= at + kPorts ? at : 0));
    }
};

// Parse at most kMaxBurst frames of one link type. kUnknown never has an IP packet.
void parse_burst(LinkType link, std::span<const Frame> frames, ParsedBurst& out) noexcept;
void parse_burst(LinkType link, std::span<const Frame> frames, ParsedBurst& out,
                 NextHeaders& next) noexcept;

// Shorten every packet to at most `bytes` bytes.
void cut_packets(ParsedBurst& parsed, std::uint32_t bytes) noexcept;

[[nodiscard]] Parsed parse_frame(LinkType link, const Frame& frame) noexcept;

// Find the IP packet in an Ethernet frame, as a step of the walk through tunnels.
[[nodiscard]] L3Type parse_ethernet(const Frame& frame, IpPacket& ip) noexcept;
// Bound the packet that a header before `rest` announces. Return kIpv4 or kIpv6 if it begins there,
// else kMalformed; return any other announcement unchanged. Without a packet ip is empty.
[[nodiscard]] L3Type bound(L3Type announced, const Frame& rest, IpPacket& ip) noexcept;

// Fast path for most packets: IPv4 without options, wholly captured. If true, ip is set as bound()
// would set it. If false, nothing is known, and ip may hold anything.
[[nodiscard]] inline bool bound_plain_ipv4(const std::uint8_t* data, std::uint32_t available,
                                           IpPacket& ip) noexcept {
    if (available < kIpv4MinHeader) {
        return false;
    }
    const std::uint32_t total = load_be16(data + 2);
    ip = {data, total};
    // If total is below 20, the left side wraps around and exceeds the length of any frame.
    return data[0] == 0x45 && total - kIpv4MinHeader <= available - kIpv4MinHeader;
}

inline constexpr unsigned kDscps = 64;

// Return the differentiated services code point (RFC 2474), or kDscps without a packet.
[[nodiscard]] inline unsigned dscp_of(const Parsed& parsed) noexcept {
    switch (parsed.found) {
        case L3Type::kIpv4:
            return parsed.ip.data[1] >> 2;
        case L3Type::kIpv6:
            return load_be16(parsed.ip.data) >> 6 & 63;
        case L3Type::kNonIp:
        case L3Type::kMalformed:
            break;
    }
    return kDscps;
}

struct FlowFields {
    const std::uint8_t* addresses;  // source, then destination: 4 or 16 bytes each
    std::uint16_t source_port;
    std::uint16_t destination_port;
    std::uint8_t protocol;
};

[[nodiscard]] constexpr bool has_ports(std::uint8_t protocol) noexcept {
    return protocol == kProtoTcp || protocol == kProtoUdp || protocol == kProtoSctp ||
           protocol == kProtoDccp || protocol == kProtoUdpLite;
}

// Read the ports at `offset`. Return false if the packet does not reach that far.
[[nodiscard]] inline bool read_ports(const IpPacket& ip, std::uint64_t offset,
                                     FlowFields& flow) noexcept {
    if (ip.length < offset + kPorts) {
        return false;
    }
    flow.source_port = load_be16(ip.data + offset);
    flow.destination_port = load_be16(ip.data + offset + 2);
    return true;
}

// Read the flow of a bounded packet. Protocols without ports, and fragments except the first, get
// ports 0. Return false if extension headers or ports are cut short; flow then holds the addresses,
// the last protocol reached, and ports 0.
[[nodiscard]] inline bool read_flow_ipv4(const IpPacket& ip, FlowFields& flow) noexcept {
    const bool later_fragment = (load_be16(ip.data + 6) & 0x1FFF) != 0;
    flow = {ip.data + 12, 0, 0, ip.data[9]};
    if (later_fragment || !has_ports(flow.protocol)) {
        return true;
    }
    return read_ports(ip, (ip.data[0] & std::uint64_t{15}) * 4, flow);
}

// The upper-layer protocol of an IP packet.
struct Upper {
    std::uint64_t offset;  // from the IP header; may be beyond the packet if not whole
    std::uint8_t protocol;
    bool fragment;        // one of several; a fragment header alone does not count
    bool later_fragment;  // not the first, so it holds no header of the protocol
    bool whole;           // false: the headers before it are cut short
};

// Find it behind the options of IPv4, or behind the extension headers of IPv6, where the walk ends
// at the fragment header of a later fragment.
[[nodiscard]] inline Upper upper_of_ipv4(const IpPacket& ip) noexcept {
    const std::uint16_t fragment = load_be16(ip.data + 6);
    return {.offset = (ip.data[0] & std::uint64_t{15}) * 4,
            .protocol = ip.data[9],
            .fragment = (fragment & 0x3FFF) != 0,  // more fragments, or an offset
            .later_fragment = (fragment & 0x1FFF) != 0,
            .whole = true};
}
[[nodiscard]] Upper upper_of_ipv6(const IpPacket& ip) noexcept;

// Continue read_flow_ipv6() behind the fixed header, whose fields flow holds.
[[nodiscard]] bool walk_extensions(const IpPacket& ip, FlowFields& flow) noexcept;

[[nodiscard]] inline bool read_flow_ipv6(const IpPacket& ip, FlowFields& flow) noexcept {
    flow = {ip.data + 8, 0, 0, ip.data[6]};
    if (has_ports(flow.protocol)) {
        return read_ports(ip, kIpv6Header, flow);
    }
    return walk_extensions(ip, flow);
}

}  // namespace unecho::packet
