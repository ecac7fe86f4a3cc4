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
// The packet is the outermost one; decapsulate_burst() (tunnels.h) goes on from there to the
// innermost.
//
// Hot code: reads only bytes inside the frame, writes nothing to it. Checksums are not looked at. A
// bounded packet lies wholly inside the frame, so later steps need no more than its own length.
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

// From the first byte of the IP header to the IP length or, if that comes first, the end of the
// capture. The header (IPv4 options too) is complete.
struct IpPacket {
    const std::uint8_t* data;
    std::uint32_t length;
};

// Of one packet: what it is, or why there is none. ip is set where there is one.
struct Parsed {
    L3Type found;
    IpPacket ip;
};

// Of a burst, four disjoint masks that together name every frame, and where the packets are.
struct ParsedBurst {
    std::uint64_t ipv4 = 0;
    std::uint64_t ipv6 = 0;
    std::uint64_t non_ip = 0;
    std::uint64_t malformed = 0;  // cut short or contradictory, up to the end of the IP header
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

// What stands behind the fixed header of each packet of a burst, as it may be: its protocol, and
// the ports, if it has any. Where there is no packet, and behind the last, it is anything.
struct NextHeaders {
    alignas(32) std::array<std::uint8_t, kMaxBurst> protocols;
    // Source and destination, in the order of their bytes; where they were cut off, other bytes of
    // the packet.
    alignas(32) std::array<std::uint32_t, kMaxBurst> ports;

    // Of IPv4 without options that reaches to its ports.
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

// Frames of one link type, at most kMaxBurst. kUnknown: never an IP packet.
void parse_burst(LinkType link, std::span<const Frame> frames, ParsedBurst& out) noexcept;
void parse_burst(LinkType link, std::span<const Frame> frames, ParsedBurst& out,
                 NextHeaders& next) noexcept;

// Of each packet no more than so many bytes.
void cut_packets(ParsedBurst& parsed, std::uint32_t bytes) noexcept;

// A burst of one.
[[nodiscard]] Parsed parse_frame(LinkType link, const Frame& frame) noexcept;

// Steps of it, for what is inside tunnels. What an Ethernet frame holds:
[[nodiscard]] L3Type parse_ethernet(const Frame& frame, IpPacket& ip) noexcept;
// and what a header announces that stands before rest: kIpv4, kIpv6 if such a packet begins there,
// else kMalformed; anything else announced is passed on. Without a packet ip is empty.
[[nodiscard]] L3Type bound(L3Type announced, const Frame& rest, IpPacket& ip) noexcept;

// What most packets are: IPv4 without options, wholly captured. True: ip is set as bound() would
// set it. False: nothing is known, and ip may hold anything.
[[nodiscard]] inline bool bound_plain_ipv4(const std::uint8_t* data, std::uint32_t available,
                                           IpPacket& ip) noexcept {
    if (available < kIpv4MinHeader) {
        return false;
    }
    const std::uint32_t total = load_be16(data + 2);
    ip = {data, total};
    // Below 20 the left side is above any frame's length.
    return data[0] == 0x45 && total - kIpv4MinHeader <= available - kIpv4MinHeader;
}

inline constexpr unsigned kDscps = 64;

// The differentiated services code point (RFC 2474); kDscps without a packet.
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

// What the headers of an IP packet lead to.
struct Upper {
    std::uint64_t offset;  // of it, from the IP header; may be beyond the packet if not whole
    std::uint8_t protocol;
    bool fragment;        // of several: a fragment header alone makes none
    bool later_fragment;  // not the first, so that no header of the protocol is in it
    bool whole;           // false: cut short before that
};

// Behind the options of IPv4, and behind the extension headers of IPv6 up to a later fragment's.
[[nodiscard]] inline Upper upper_of_ipv4(const IpPacket& ip) noexcept {
    const std::uint16_t fragment = load_be16(ip.data + 6);
    return {.offset = (ip.data[0] & std::uint64_t{15}) * 4,
            .protocol = ip.data[9],
            .fragment = (fragment & 0x3FFF) != 0,  // more to come, or an offset
            .later_fragment = (fragment & 0x1FFF) != 0,
            .whole = true};
}
[[nodiscard]] Upper upper_of_ipv6(const IpPacket& ip) noexcept;

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
