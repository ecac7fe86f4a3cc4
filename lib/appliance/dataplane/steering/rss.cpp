// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/dataplane/steering/rss.h"

#include <algorithm>
#include <tuple>

#include <rte_ethdev.h>
#include <rte_thash.h>

namespace unecho::dataplane {
namespace {

using packet::L3Type;
using packet::load_be16;
using packet::load_be32;

// UDP ports of VXLAN (standard and earlier), GENEVE and GTP-U: some cards hash the packet inside.
constexpr std::array<std::uint16_t, 4> kTunnelPorts{4789, 8472, 6081, 2152};

bool is_tunnel(std::uint16_t port) noexcept {
    return std::find(kTunnelPorts.begin(), kTunnelPorts.end(), port) != kTunnelPorts.end();
}

// Return true for TCP or UDP whose ports the card hashes, and in which it looks for no tunnel.
bool plain_ports(std::uint8_t protocol, const std::uint8_t* ports, bool tcp, bool udp) noexcept {
    return (protocol == packet::kProtoTcp && tcp) ||
           (protocol == packet::kProtoUdp && udp && !is_tunnel(load_be16(ports)) &&
            !is_tunnel(load_be16(ports + 2)));
}

// Return true for IPv4 without options, not fragmented, with its ports inside the packet.
bool plain_ipv4(const std::uint8_t* p, std::uint32_t length, std::uint64_t types) noexcept {
    constexpr std::uint32_t kNeeded = packet::kIpv4MinHeader + packet::kPorts;
    return length >= kNeeded && p[0] == 0x45 && load_be16(p + 2) >= kNeeded &&
           (load_be16(p + 6) & 0x3FFF) == 0 &&
           plain_ports(p[9], p + packet::kIpv4MinHeader,
                       (types & RTE_ETH_RSS_NONFRAG_IPV4_TCP) != 0,
                       (types & RTE_ETH_RSS_NONFRAG_IPV4_UDP) != 0);
}

// Return true for IPv6 without extension headers.
bool plain_ipv6(const std::uint8_t* p, std::uint32_t length, std::uint64_t types) noexcept {
    return length >= packet::kIpv6Header + packet::kPorts && p[0] >> 4 == 6 &&
           load_be16(p + 4) >= packet::kPorts &&
           plain_ports(p[6], p + packet::kIpv6Header, (types & RTE_ETH_RSS_NONFRAG_IPV6_TCP) != 0,
                       (types & RTE_ETH_RSS_NONFRAG_IPV6_UDP) != 0);
}

bool is_fragment(L3Type found, const packet::IpPacket& ip) noexcept {
    return found == L3Type::kIpv4 ? (load_be16(ip.data + 6) & 0x3FFF) != 0
                                  : ip.data[6] == packet::kProtoFragment;
}

}  // namespace

bool has_trusted_rss_hash(const rte_mbuf& mbuf, const RssModel& model) noexcept {
    if ((mbuf.ol_flags & RTE_MBUF_F_RX_RSS_HASH) == 0) {
        return false;
    }
    const auto* frame = rte_pktmbuf_mtod(&mbuf, const std::uint8_t*);
    std::uint32_t offset = packet::kEthernetHeader;
    const std::uint32_t length = mbuf.data_len;
    if (length < offset + packet::kTag) {
        return false;
    }
    std::uint16_t type = load_be16(frame + offset - 2);
    if (type == packet::kEtherVlan) {
        type = load_be16(frame + offset + 2);
        offset += packet::kTag;
    }
    if (type == packet::kEtherIpv4) {
        return plain_ipv4(frame + offset, length - offset, model.types);
    }
    return type == packet::kEtherIpv6 && plain_ipv6(frame + offset, length - offset, model.types);
}

// A card hashes addresses alone if a packet has no ports. Ports of 0 give the same result, as a bit
// that is not set adds nothing to a Toeplitz hash.
std::uint32_t rss_hash(const RssModel& model, const packet::Parsed& packet) noexcept {
    const auto& [found, ip] = packet;
    packet::FlowFields flow;
    if (found == L3Type::kIpv4) {
        std::ignore = read_flow_ipv4(ip, flow);  // cut short: ports 0
    } else {
        std::ignore = read_flow_ipv6(ip, flow);
    }
    const bool with_ports =
        (flow.protocol == packet::kProtoTcp || flow.protocol == packet::kProtoUdp) &&
        (model.fragments_by_ports || !is_fragment(found, ip));
    const unsigned words = found == L3Type::kIpv4 ? 2 : 8;
    std::array<std::uint32_t, 9> tuple;
    for (unsigned i = 0; i < words; ++i) {
        tuple[i] = load_be32(flow.addresses + std::size_t{4} * i);
    }
    tuple[words] = with_ports ? std::uint32_t{flow.source_port} << 16 | flow.destination_port : 0;
    return rte_softrss_be(tuple.data(), words + 1,
                          reinterpret_cast<const std::uint8_t*>(model.key.data()));
}

WorkerIndex owner_by_rss(const RssModel& model, const packet::Parsed& packet,
                         WorkerIndex self) noexcept {
    if (packet.found == L3Type::kIpv4 || packet.found == L3Type::kIpv6) {
        return model.table[rss_hash(model, packet) % model.entries];
    }
    return model.frames_have_keys ? model.table[0] : self;
}

}  // namespace unecho::dataplane
