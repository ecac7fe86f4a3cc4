// SPDX-License-Identifier: BSD-3-Clause
#include "analyze/kind.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "analyze/dissect.h"
#include "packet/headers.h"

namespace unecho::analyze {
namespace {

using packet::IpPacket;
using packet::load_be16;
using packet::load_be32;

constexpr std::uint8_t kIcmp = 1;
constexpr std::uint8_t kIcmp6 = 58;
constexpr std::uint8_t kHopByHop = 0;
constexpr std::uint8_t kSyn = 2;
constexpr std::uint8_t kRst = 4;
constexpr std::uint32_t kTcpFlags = 13;

enum Service : std::uint16_t {
    kPlain,
    kSegment,
    kOpening,
    kReset,
    kAck,
    kEcho,
    kNeighbour,
    kListener,
    kFirstPort
};

struct Port {
    std::uint16_t number;
    const char* name;
};
// Of those that say the same again by themselves, or are asked again: both ends' ports are looked
// at, in this order.
constexpr std::array kPorts{
    Port{5353, "mDNS"},   Port{5355, "LLMNR"},  Port{1985, "HSRP"},         Port{2029, "HSRP"},
    Port{3222, "GLBP"},   Port{1900, "SSDP"},   Port{3702, "WS-Discovery"}, Port{67, "DHCP"},
    Port{68, "DHCP"},     Port{546, "DHCPv6"},  Port{547, "DHCPv6"},        Port{123, "NTP"},
    Port{137, "NetBIOS"}, Port{138, "NetBIOS"}, Port{520, "RIP"},           Port{521, "RIPng"},
    Port{646, "LDP"},     Port{3784, "BFD"},    Port{5060, "SIP"},          Port{514, "syslog"},
    Port{161, "SNMP"},    Port{53, "DNS"},      Port{443, "QUIC"}};

struct Name {
    std::uint16_t number;
    const char* name;
};
constexpr std::array kServiceNames{
    Name{kSegment, "data"}, Name{kOpening, "SYN"},  Name{kReset, "RST"},   Name{kAck, "ACK"},
    Name{kEcho, "echo"},    Name{kNeighbour, "ND"}, Name{kListener, "MLD"}};
// Below 1536: a length, of 802.3.
constexpr std::uint16_t kLeastEtherType = 1536;
constexpr std::uint16_t kOtherwise = 1;      // nothing is known of what it is
constexpr std::uint16_t kFramesOf80211 = 2;  // and three more, by their types
constexpr std::array kEtherNames{Name{0x0806, "ARP"},
                                 Name{0x88CC, "LLDP"},
                                 Name{0x8809, "slow protocols (LACP)"},
                                 Name{0x8902, "CFM"},
                                 Name{0x88F7, "PTP"},
                                 Name{0x8892, "PROFINET"},
                                 Name{0x88A4, "EtherCAT"},
                                 Name{0x88B8, "GOOSE"},
                                 Name{0x88BA, "sampled values"},
                                 Name{0x888E, "EAPOL"},
                                 Name{0x9000, "loopback"},
                                 Name{0x8863, "PPPoE discovery"},
                                 Name{0x8864, "PPPoE"},
                                 Name{0, "802.3"},
                                 Name{kOtherwise, "not IP"},
                                 Name{kFramesOf80211, "802.11 management"},
                                 Name{kFramesOf80211 + 1, "802.11 control"},
                                 Name{kFramesOf80211 + 2, "802.11 data"},
                                 Name{kFramesOf80211 + 3, "802.11 extension"}};

template <typename Names>
const char* name_in(const Names& names, std::uint16_t number) {
    const auto* found = std::find_if(names.begin(), names.end(),
                                     [&](const Name& one) { return one.number == number; });
    return found == names.end() ? nullptr : found->name;
}

// Where the transport header begins; 0 where it is not told, or not there.
std::uint32_t transport_of(const IpPacket& ip, std::uint8_t protocol, bool v6) noexcept {
    if (!v6) {
        return (load_be16(ip.data + 6) & 0x1FFF) != 0 ? 0 : (ip.data[0] & 15U) * 4;
    }
    if (ip.data[6] == protocol) {
        return packet::kIpv6Header;
    }
    const bool options = ip.data[6] == kHopByHop && ip.length >= packet::kIpv6Header + 8 &&
                         ip.data[packet::kIpv6Header] == protocol;
    return options ? packet::kIpv6Header + (ip.data[packet::kIpv6Header + 1] + 1U) * 8 : 0;
}

std::uint16_t port_service(const std::uint8_t* ports) noexcept {
    for (std::size_t i = 0; i < kPorts.size(); ++i) {
        if (load_be16(ports) == kPorts[i].number || load_be16(ports + 2) == kPorts[i].number) {
            return static_cast<std::uint16_t>(kFirstPort + i);
        }
    }
    return kPlain;
}

std::uint16_t icmp_service(std::uint8_t type, bool v6) noexcept {
    if (!v6) {
        return type == 0 || type == 8 ? kEcho : kPlain;
    }
    if (type >= 133 && type <= 137) {
        return kNeighbour;
    }
    return type == 128 || type == 129                    ? kEcho
           : (type >= 130 && type <= 132) || type == 143 ? kListener
                                                         : kPlain;
}

std::uint16_t tcp_service(std::uint8_t flags, bool data) noexcept {
    return (flags & kRst) != 0 ? kReset : data ? kSegment : (flags & kSyn) != 0 ? kOpening : kAck;
}

void read_service(const IpPacket& ip, bool v6, Kind& out) noexcept {
    const auto protocol = static_cast<std::uint8_t>(out.protocol & 255);
    const std::uint32_t at = transport_of(ip, protocol, v6);
    if (at == 0 || ip.length < at + 4) {
        return;
    }
    if (protocol == packet::kProtoUdp) {
        out.detail = port_service(ip.data + at);
    } else if (protocol == (v6 ? kIcmp6 : kIcmp)) {
        out.detail = icmp_service(ip.data[at], v6);
    } else if (protocol == packet::kProtoTcp && ip.length > at + kTcpFlags) {
        const std::uint32_t header = (ip.data[at + 12] >> 4) * 4U;
        // Not by the frame's end: a short one is padded.
        const std::uint32_t size =
            v6 ? packet::kIpv6Header + load_be16(ip.data + 4) : load_be16(ip.data + 2);
        out.detail = tcp_service(ip.data[at + kTcpFlags], size > at + header);
        out.segment = out.detail == kSegment;
        out.answer = out.detail == kReset || out.detail == kAck;
    }
}

// A short fold is enough: it tells senders apart, and two that meet only share what is known of
// their IDs.
std::uint32_t fold(const std::uint8_t* address, std::size_t size) noexcept {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < size; i += 4) {
        sum = (sum ^ load_be32(address + i)) * 0x9E3779B1U;
    }
    return sum;
}

}  // namespace

Kind kind_of_malformed(packet::Link link) noexcept {
    Kind out;
    out.protocol = kNotIp;
    out.opaque = link == packet::Link::kUnknown;
    out.detail = kOtherwise;
    return out;
}

Kind kind_of_frame(packet::Link link, const packet::NonIpFrame& frame) noexcept {
    Kind out = kind_of_malformed(link);
    switch (packet::info_of(frame.kind).non_ip_number) {
        case packet::NonIpNumber::kEtherType:
        case packet::NonIpNumber::kHdlcEtherType:
            out.detail = frame.type < kLeastEtherType ? std::uint16_t{0} : frame.type;
            break;
        case packet::NonIpNumber::kWifiType:
            out.detail = static_cast<std::uint16_t>(kFramesOf80211 + frame.type);
            break;
        case packet::NonIpNumber::kFamily:
        case packet::NonIpNumber::kPpp:
        case packet::NonIpNumber::kNone:
            break;
    }
    return out;
}

Kind kind_of(const IpPacket& ip, std::uint16_t protocol) noexcept {
    Kind out;
    out.protocol = protocol;
    const bool v6 = protocol >= 256;
    out.source = v6 ? fold(ip.data + 8, 16) : fold(ip.data + 12, 4);
    if (!v6) {
        const std::uint16_t id = load_be16(ip.data + 4);
        const bool fragment = (load_be16(ip.data + 6) & 0x3FFF) != 0;
        out.counts = id > 1;
        out.id = fragment ? std::uint16_t{0} : id;
    }
    read_service(ip, v6, out);
    return out;
}

std::string kind_name(std::uint32_t label) {
    const auto protocol = static_cast<std::uint16_t>(label & 0xFFFF);
    const auto detail = static_cast<std::uint16_t>(label >> 16);
    if (protocol >= kNotIp) {
        const char* known = name_in(kEtherNames, detail);
        std::array<char, 32> text{};
        std::snprintf(text.data(), text.size(), "EtherType 0x%04x", detail);
        return known != nullptr ? known : text.data();
    }
    if (detail >= kFirstPort) {
        return protocol_name(protocol) + " (" +
               kPorts.at(static_cast<std::size_t>(detail - kFirstPort)).name + ")";
    }
    const char* service = name_in(kServiceNames, detail);
    return protocol_name(protocol) + (service == nullptr ? "" : std::string(" ") + service);
}

}  // namespace unecho::analyze
