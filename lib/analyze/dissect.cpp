// SPDX-License-Identifier: BSD-3-Clause
#include "analyze/dissect.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "packet/digests.h"
#include "packet/headers.h"
#include "packet/non_ip.h"
#include "packet/wifi.h"

namespace unecho::analyze {
namespace {

using packet::Found;
using packet::Frame;
using packet::IpPacket;
using packet::Link;

constexpr std::uint32_t kTcpHeader = 20;

// 0 for no bytes, and for no others.
std::uint32_t short_hash(const std::uint8_t* data, std::uint32_t length, std::uint32_t kind,
                         const hash::Secret& secret) noexcept {
    if (length == 0) {
        return 0;
    }
    const Frame bytes{data, length};
    Digest digest = 0;
    packet::digest_frames({&bytes, 1}, secret, &digest);
    return static_cast<std::uint32_t>(remix(digest, kind)) | 1U;
}

void read_link(Link link, const Frame& frame, std::uint32_t ip_offset, const hash::Secret& secret,
               Origin& origin) noexcept {
    const packet::LinkHeader& header = packet::info_of(link).header;
    const std::uint32_t end = std::min(header.end, ip_offset);
    const std::uint32_t begin = std::min(header.begin, end);
    origin.macs =
        short_hash(frame.data + begin, end - begin, static_cast<std::uint32_t>(link), secret);
    const std::uint32_t tags = std::min(header.tags, ip_offset);
    origin.tags =
        ip_offset <= header.plain ? 0 : short_hash(frame.data + tags, ip_offset - tags, 1, secret);
}

// Of a data frame with an EtherType, for what begins at ip_offset. The three addresses lie behind
// each other; the fourth is a station's, as the third. 802.11 pads nothing.
void read_air(Link link, const Frame& frame, std::uint32_t ip_offset, const hash::Secret& secret,
              Origin& origin) noexcept {
    const packet::WifiFrame wifi = packet::find_wifi(link, frame.data, frame.length);
    const std::uint8_t* const header = frame.data + wifi.begin;
    const std::uint32_t tags = packet::wifi_payload(wifi, frame.data).offset;
    origin.macs =
        short_hash(header + packet::kWifiAddresses, packet::kWifiSequence - packet::kWifiAddresses,
                   static_cast<std::uint32_t>(Link::kWifi), secret);
    origin.tags = short_hash(frame.data + tags, ip_offset - tags, 1, secret);
    origin.padding =
        air_mark(static_cast<std::uint16_t>(packet::load_le16(header + packet::kWifiSequence)),
                 (header[1] & packet::kWifiRetry) != 0);
}

// The segment's payload, unless it is a later fragment or behind extension headers.
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
    out.origin.tos = ip.data[1];
    out.origin.ttl = ip.data[8];
    out.origin.checksum = packet::load_be16(ip.data + 10);
    out.protocol = ip.data[9];
    const bool fragment = (packet::load_be16(ip.data + 6) & 0x3FFF) != 0;
    if (ip.data[9] == packet::kProtoTcp && !fragment) {
        read_tcp(ip, (ip.data[0] & 15U) * 4, packet::load_be16(ip.data + 2), out);
    }
}

void read_ipv6(const IpPacket& ip, Dissected& out) noexcept {
    out.origin.tos = static_cast<std::uint8_t>(packet::load_be16(ip.data) >> 4);
    out.origin.ttl = ip.data[7];
    packet::FlowFields flow{};
    const bool whole = packet::read_flow_ipv6(ip, flow);
    out.protocol = static_cast<std::uint16_t>(256 + flow.protocol);
    if (whole && ip.data[6] == packet::kProtoTcp) {
        read_tcp(ip, packet::kIpv6Header, packet::kIpv6Header + packet::load_be16(ip.data + 4),
                 out);
    }
}

// What non_ip "frame" does not compare: tags and labels, and what stands behind the frame's end; of
// 802.11 with an EtherType what the radios wrote.
void read_without_ip(Link link, const Frame& frame, const packet::NonIpFrame& other,
                     const hash::Secret& secret, Origin& origin) noexcept {
    const auto begin = static_cast<std::uint32_t>(other.body - frame.data);
    if (packet::is_wifi(link)) {
        if (other.kind == Link::kEthernet) {
            read_air(link, frame, begin, secret, origin);
        }
        return;
    }
    const std::uint32_t end = std::min(begin + other.length, frame.length);
    origin.padding = short_hash(frame.data + end, frame.length - end, 2, secret);
    const packet::LinkHeader& header = packet::info_of(link).header;
    if (header.plain != 0 && begin > header.plain) {
        origin.tags = short_hash(frame.data + header.tags, begin - header.tags, 1, secret);
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

}  // namespace

Dissected dissect(Link link, const Frame& frame, const packet::Parsed& parsed,
                  const hash::Secret& secret) noexcept {
    Dissected out;
    if (parsed.found == Found::kMalformed) {
        out.protocol = kMalformed;
        out.kind = kind_of_malformed(link);
        return out;
    }
    if (parsed.found == Found::kNonIp) {
        const packet::NonIpFrame other = packet::non_ip_frame(link, frame.data, frame.length);
        read_without_ip(link, frame, other, secret, out.origin);
        out.kind = kind_of_frame(link, other);
        return out;
    }
    out.ip = parsed.ip;
    const auto offset = static_cast<std::uint32_t>(out.ip.data - frame.data);
    if (packet::is_wifi(link)) {
        read_air(link, frame, offset, secret, out.origin);
    } else {
        read_link(link, frame, offset, secret, out.origin);
        const std::uint32_t end = offset + out.ip.length;
        out.origin.padding = short_hash(frame.data + end, frame.length - end, 2, secret);
    }
    if (parsed.found == Found::kIpv4) {
        read_ipv4(out.ip, out);
    } else {
        read_ipv6(out.ip, out);
    }
    out.kind = kind_of(out.ip, out.protocol);
    return out;
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
