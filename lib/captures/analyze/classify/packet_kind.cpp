// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/classify/packet_kind.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "base/humanize.h"
#include "captures/analyze/collect/dissect.h"
#include "packets/ether_types.h"
#include "packets/headers.h"
#include "packets/keys/observation.h"

namespace unecho::analyze {
namespace {

using packet::IpPacket;
using packet::load_be16;
using packet::load_be32;
using packet::NonIpNumber;

static_assert(kMalformed <= PacketKind::kMaxProtocol);
static_assert(static_cast<unsigned>(NonIpNumber::kNone) < 16, "four bits of a label");

constexpr std::uint32_t kFold = 0x9E3779B1;
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
// Ports of protocols that repeat themselves, or whose queries are repeated. Of a packet's two
// ports, the first in this order decides.
constexpr std::array kPorts{
    Port{5353, "mDNS"},   Port{5355, "LLMNR"},  Port{1985, "HSRP"},         Port{2029, "HSRP"},
    Port{3222, "GLBP"},   Port{1900, "SSDP"},   Port{3702, "WS-Discovery"}, Port{67, "DHCP"},
    Port{68, "DHCP"},     Port{546, "DHCPv6"},  Port{547, "DHCPv6"},        Port{123, "NTP"},
    Port{137, "NetBIOS"}, Port{138, "NetBIOS"}, Port{520, "RIP"},           Port{521, "RIPng"},
    Port{646, "LDP"},     Port{3784, "BFD"},    Port{5060, "SIP"},          Port{514, "syslog"},
    Port{161, "SNMP"},    Port{53, "DNS"},      Port{443, "QUIC"}};

struct ServiceName {
    std::uint16_t number;
    const char* name;
};
constexpr std::array kServiceNames{ServiceName{kSegment, "data"}, ServiceName{kOpening, "SYN"},
                                   ServiceName{kReset, "RST"},    ServiceName{kAck, "ACK"},
                                   ServiceName{kEcho, "echo"},    ServiceName{kNeighbour, "ND"},
                                   ServiceName{kListener, "MLD"}};
const char* service_name(std::uint16_t service) {
    const auto* found = std::find_if(kServiceNames.begin(), kServiceNames.end(),
                                     [&](const ServiceName& one) { return one.number == service; });
    return found == kServiceNames.end() ? nullptr : found->name;
}

// Return the offset of the transport header; 0 if it is unknown or missing.
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

// Position of a port in kPorts, by the low byte of its number, which no two share.
constexpr auto kNoPort = static_cast<std::uint8_t>(kPorts.size());
constexpr std::array<std::uint8_t, 256> kPortPlaces = [] {
    std::array<std::uint8_t, 256> out{};
    out.fill(kNoPort);
    for (std::size_t i = 0; i < kPorts.size(); ++i) {
        out[kPorts[i].number & 255] = static_cast<std::uint8_t>(i);
    }
    return out;
}();
static_assert([] {
    std::size_t places = 0;
    for (const std::uint8_t place : kPortPlaces) {
        places += place != kNoPort ? 1 : 0;
    }
    return places == kPorts.size();
}());

std::uint8_t place_of(std::uint16_t port) noexcept {
    const std::uint8_t place = kPortPlaces[port & 255];
    return place != kNoPort && kPorts[place].number == port ? place : kNoPort;
}

std::uint16_t port_service(const std::uint8_t* ports) noexcept {
    const std::uint8_t place = std::min(place_of(load_be16(ports)), place_of(load_be16(ports + 2)));
    return place == kNoPort ? std::uint16_t{kPlain}
                            : static_cast<std::uint16_t>(kFirstPort + place);
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

void read_service(const IpPacket& ip, bool v6, PacketKind& out) noexcept {
    const auto protocol = static_cast<std::uint8_t>(out.protocol & 255);
    const std::uint32_t at = transport_of(ip, protocol, v6);
    if (at == 0 || ip.length < at + 4) {
        return;
    }
    if (!out.identified && (protocol == packet::kProtoUdp || protocol == packet::kProtoTcp)) {
        out.flow = (out.flow ^ load_be32(ip.data + at)) * kFold;
    }
    if (protocol == packet::kProtoUdp) {
        out.detail = port_service(ip.data + at);
    } else if (protocol == (v6 ? kIcmp6 : kIcmp)) {
        out.detail = icmp_service(ip.data[at], v6);
    } else if (protocol == packet::kProtoTcp && ip.length > at + kTcpFlags) {
        const std::uint32_t header = (ip.data[at + 12] >> 4) * 4U;
        // The end of the frame is not used, because short frames are padded.
        const std::uint32_t size =
            v6 ? packet::kIpv6Header + load_be16(ip.data + 4) : load_be16(ip.data + 2);
        out.detail = tcp_service(ip.data[at + kTcpFlags], size > at + header);
        out.segment = out.detail == kSegment;
        out.answer = out.detail == kReset || out.detail == kAck;
    }
}

// A short hash is enough to distinguish senders. Two that collide only share what is known of their
// IDs.
std::uint32_t fold(const std::uint8_t* address, std::size_t size) noexcept {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < size; i += 4) {
        sum = (sum ^ load_be32(address + i)) * kFold;
    }
    return sum;
}

std::string name_without_ip(const packet::NonIpType& type) {
    const std::string name(packet::name_of(type));
    if (type.what == NonIpNumber::kWifiType) {
        return "802.11 " + name;
    }
    if (type.what == NonIpNumber::kNone) {
        return "not IP";
    }
    return name.empty() ? format_number("EtherType 0x%04x", type.number) : name;
}

}  // namespace

PacketKind kind_of_malformed(packet::LinkType link) noexcept {
    PacketKind out;
    out.protocol = kNotIp;
    out.opaque = link == packet::LinkType::kUnknown;
    return out;
}

PacketKind kind_of_frame(packet::LinkType link, const packet::NonIpFrame& frame) noexcept {
    PacketKind out = kind_of_malformed(link);
    const packet::NonIpType type = packet::type_of(frame);
    switch (type.what) {
        case NonIpNumber::kEtherType:
        case NonIpNumber::kHdlcEtherType:
        case NonIpNumber::kWifiType:
            out.what = type.what;
            out.detail = type.number;
            break;
        case NonIpNumber::kFamily:
        case NonIpNumber::kPpp:
        case NonIpNumber::kNone:
            break;
    }
    return out;
}

void read_kind(const IpPacket& ip, std::uint16_t protocol, PacketKind& out) noexcept {
    out.protocol = protocol;
    const bool v6 = protocol >= 256;
    out.source = v6 ? fold(ip.data + 8, 16) : fold(ip.data + 12, 4);
    out.identified = v6 ? packet::is_identified_ipv6(ip) : packet::is_identified_ipv4(ip);
    if (!v6) {
        const std::uint16_t id = load_be16(ip.data + 4);
        const bool fragment = (load_be16(ip.data + 6) & 0x3FFF) != 0;
        out.counts = id > 1;
        out.id = fragment ? std::uint16_t{0} : id;
    }
    if (!out.identified) {
        out.flow = out.source * kFold + (v6 ? fold(ip.data + 24, 16) : fold(ip.data + 16, 4));
        read_service(ip, v6, out);
    }
}

PacketKind complete(const PacketKind& kind, const IpPacket& ip) noexcept {
    PacketKind out = kind;
    if (kind.identified) {
        read_service(ip, kind.protocol >= 256, out);
    }
    return out;
}

std::string kind_name(std::uint32_t label) {
    const auto protocol = static_cast<std::uint16_t>(label & PacketKind::kMaxProtocol);
    const auto detail = static_cast<std::uint16_t>(label >> 16);
    if (protocol >= kNotIp) {
        return name_without_ip(
            {static_cast<NonIpNumber>(label >> PacketKind::kProtocolBits & 15), detail});
    }
    if (detail >= kFirstPort && detail - kFirstPort < static_cast<int>(kPorts.size())) {
        return fmt::format("{} ({})", protocol_name(protocol),
                           kPorts.at(static_cast<std::size_t>(detail - kFirstPort)).name);
    }
    const char* service = service_name(detail);
    return protocol_name(protocol) + (service == nullptr ? "" : std::string(" ") + service);
}

}  // namespace unecho::analyze
