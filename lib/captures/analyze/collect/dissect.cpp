// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/collect/dissect.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "packets/headers.h"
#include "packets/keys/non_ip.h"
#include "packets/keys/observation.h"
#include "packets/wifi.h"

namespace unecho::analyze {
namespace {

using packet::Frame;
using packet::IpPacket;
using packet::L3Type;
using packet::LinkType;

constexpr std::uint32_t kTcpHeader = 20;

// Read the payload of a TCP segment that is no fragment and has no extension headers.
void read_tcp(const IpPacket& ip, std::uint32_t offset, std::uint32_t ip_size,
              Dissected& out) noexcept {
    if (ip.length < offset + kTcpHeader) {
        return;
    }
    const std::uint8_t* tcp = ip.data + offset;
    const std::uint32_t header = offset + (std::uint32_t{tcp[12]} >> 4) * 4;
    if (header < offset + kTcpHeader || header >= ip.length) {
        return;
    }
    out.sequence = packet::load_be32(tcp + 4);
    out.payload = {ip.data + header, ip.length - header};
    out.payload_size = std::max(ip_size, ip.length) - header;
}

void read_ipv4(const IpPacket& ip, Dissected& out) noexcept {
    out.cut = packet::load_be16(ip.data + 2) > ip.length;
    out.protocol = ip.data[9];
    const bool fragment = (packet::load_be16(ip.data + 6) & 0x3FFF) != 0;
    if (ip.data[9] == packet::kProtoTcp && !fragment) {
        read_tcp(ip, (ip.data[0] & 15U) * 4, packet::load_be16(ip.data + 2), out);
    }
}

void read_ipv6(const IpPacket& ip, Dissected& out) noexcept {
    out.cut = packet::kIpv6Header + packet::load_be16(ip.data + 4) > ip.length;
    packet::FlowFields flow{};
    const bool whole = packet::read_flow_ipv6(ip, flow);
    out.protocol = static_cast<std::uint16_t>(256 + flow.protocol);
    if (whole && ip.data[6] == packet::kProtoTcp) {
        read_tcp(ip, packet::kIpv6Header, packet::kIpv6Header + packet::load_be16(ip.data + 4),
                 out);
    }
}

struct Name {
    std::uint8_t number;
    const char* text;
};
constexpr std::array kNames{
    Name{1, "ICMP"},   Name{2, "IGMP"},   Name{4, "IP-in-IP"},  Name{6, "TCP"},
    Name{17, "UDP"},   Name{33, "DCCP"},  Name{41, "IPv6"},     Name{44, "fragment"},
    Name{47, "GRE"},   Name{50, "ESP"},   Name{51, "AH"},       Name{58, "ICMPv6"},
    Name{88, "EIGRP"}, Name{89, "OSPF"},  Name{103, "PIM"},     Name{112, "VRRP"},
    Name{115, "L2TP"}, Name{132, "SCTP"}, Name{136, "UDP-Lite"}};

// Hash the MAC addresses, with the direction as last bit, or the cooked header.
std::uint64_t population_of(LinkType link, const Frame& frame) noexcept {
    constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;
    constexpr std::uint64_t kAddress = (std::uint64_t{1} << 48) - 1;
    if (link == LinkType::kEthernet && frame.length >= packet::kMacAddresses + 2) {
        const std::uint64_t to = packet::load_le64(frame.data) & kAddress;
        const std::uint64_t from = packet::load_le64(frame.data + 6) & kAddress;
        return ((to + from) * kOdd ^ (to ^ from)) * kOdd << 1 | (to < from ? 1 : 0);
    }
    std::uint64_t out = 0;
    const packet::LinkHeader& header = packet::info_of(link).header;
    const std::uint32_t end = packet::is_wifi(link) ? 0 : std::min(header.end, frame.length);
    for (std::uint32_t i = header.begin; i < end; ++i) {
        out = (out ^ frame.data[i]) * kOdd;
    }
    return out << 1;
}

}  // namespace

Dissected dissect(LinkType link, const Frame& frame, const packet::Parsed& parsed,
                  const hash::Secret& secret) noexcept {
    Dissected out;
    out.origin = packet::frame_traits(link, frame, parsed, secret);
    out.population = population_of(link, frame);
    if (parsed.found == L3Type::kMalformed) {
        out.protocol = kMalformed;
        out.kind = kind_of_malformed(link);
        return out;
    }
    if (parsed.found == L3Type::kNonIp) {
        const packet::NonIpFrame other = packet::non_ip_frame(link, frame.data, frame.length);
        out.kind = kind_of_frame(link, other);
        return out;
    }
    out.ip = parsed.ip;
    out.macs = link == LinkType::kEthernet ? frame.data : nullptr;
    if (parsed.found == L3Type::kIpv4) {
        read_ipv4(out.ip, out);
    } else {
        read_ipv6(out.ip, out);
    }
    read_kind(out.ip, out.protocol, out.kind);
    return out;
}

// If the inner packet has no Ethernet frame, nothing precedes it.
Dissected dissect_inside(const packet::DecapsulatedLevel& level,
                         const hash::Secret& secret) noexcept {
    if (level.ethernet) {
        return dissect(LinkType::kEthernet, level.payload, level.packet, secret);
    }
    const auto before = static_cast<std::uint32_t>(level.packet.ip.data - level.payload.data);
    return dissect(LinkType::kRaw, {level.packet.ip.data, level.payload.length - before},
                   level.packet, secret);
}

AddressPair addresses_of(const Dissected& packet) noexcept {
    AddressPair pair;
    pair.v6 = packet.protocol >= 256;
    const std::size_t size = pair.v6 ? 16 : 4;
    const std::uint8_t* addresses = packet.ip.data + (pair.v6 ? 8 : 12);
    std::memcpy(pair.bytes.data(), addresses, size);
    std::memcpy(pair.bytes.data() + 16, addresses + size, size);
    return pair;
}

std::string protocol_name(std::uint16_t protocol) {
    if (protocol >= kNotIp) {
        return protocol == kNotIp ? "not IP" : "malformed";
    }
    const std::string version = protocol < 256 ? "IPv4 " : "IPv6 ";
    const auto* name = std::find_if(kNames.begin(), kNames.end(),
                                    [&](const Name& n) { return n.number == (protocol & 255); });
    return version +
           (name != kNames.end() ? name->text : "protocol " + std::to_string(protocol & 255));
}

}  // namespace unecho::analyze
