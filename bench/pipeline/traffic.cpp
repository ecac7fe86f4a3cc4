// SPDX-License-Identifier: BSD-3-Clause
#include "traffic.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <rte_ip.h>

#include "filters/hash/digest.h"
#include "packets/headers.h"

namespace unecho::bench {
namespace {

constexpr std::uint32_t kShortest = 60;
constexpr std::uint32_t kMiddle = 590;
constexpr std::uint8_t kFiller = 0x5A;

// Ethernet, IPv4, and the beginning of TCP or UDP. Checksums are 0 because nothing reads them.
struct [[gnu::packed]] Headers {
    std::array<std::uint8_t, 12> macs;
    std::array<std::uint8_t, 2> ether_type;
    std::uint8_t version_ihl;
    std::uint8_t tos;
    std::uint16_t length;
    std::uint16_t id;
    std::uint16_t flags;
    std::uint8_t ttl;
    std::uint8_t protocol;
    std::uint16_t checksum;
    std::uint32_t source;
    std::uint32_t destination;
    std::uint16_t source_port;
    std::uint16_t destination_port;
    std::uint32_t a;  // TCP: sequence number; UDP: length and checksum
    std::uint64_t b;  // TCP: acknowledgement number and so on; UDP: payload
    std::uint64_t c;  // payload
};
static_assert(sizeof(Headers) == 58 && sizeof(Headers) <= kShortest);

constexpr unsigned kFlowBits = 16;

}  // namespace

const char* name_of(Mix mix) {
    switch (mix) {
        case Mix::k64:
            return "64";
        case Mix::kImix:
            return "IMIX";
        case Mix::k1518:
            return "1518";
    }
    return "";
}

Traffic::Traffic(PacketCounter& counter, Mix mix, unsigned echo_percent, Tunnel tunnel,
                 FlowPart flows, bool without_id)
    : counter_(counter),
      mix_(mix),
      tunnel_(tunnel),
      flows_(flows),
      without_id_(without_id),
      echo_below_(~std::uint64_t{0} / 100 * echo_percent) {}

std::uint64_t Traffic::random() {
    return remix(0, state_++);
}

// Packet lengths 64, 594 and 1518 in the ratio 7:4:1.
std::uint32_t Traffic::length_of(std::uint64_t identity) const {
    if (mix_ == Mix::k64) {
        return kShortest;
    }
    if (mix_ == Mix::k1518) {
        return kLongest;
    }
    const std::uint64_t place = reduce(remix(identity, 1), 12);
    return place < 7 ? kShortest : place < 11 ? kMiddle : kLongest;
}

void Traffic::fill(rte_mbuf& mbuf) {
    std::memset(rte_pktmbuf_mtod(&mbuf, std::uint8_t*), kFiller, kLongest + kTunnelHeaders);
}

// Buffers also hold packets of other rows, whose headers may have reached this far.
void Traffic::refill(std::uint8_t* payload, std::size_t bytes) {
    std::memset(payload, kFiller, std::min<std::size_t>(bytes, kTunnelHeaders + sizeof(Headers)));
}

// 65536 flows, half of them TCP. IP ID and 64 bits after the ports identify the packet.
void Traffic::write(rte_mbuf& mbuf, std::uint64_t identity, bool echo) const {
    const std::uint32_t length = length_of(identity);
    const auto flow =
        static_cast<std::uint16_t>(static_cast<std::uint16_t>(remix(identity, 2)) >> flows_.bits |
                                   flows_.number << (kFlowBits - flows_.bits));
    const bool tcp = (flow & 1) != 0;
    Headers h{};
    h.macs = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, static_cast<std::uint8_t>(echo ? 3 : 2)};
    h.ether_type = {0x08, 0x00};
    h.version_ihl = 0x45;
    h.length = __builtin_bswap16(static_cast<std::uint16_t>(length - packet::kEthernetHeader));
    h.id = without_id_ ? 0 : static_cast<std::uint16_t>(2 + identity % 65000);
    h.ttl = echo ? 63 : 64;
    h.protocol = tcp ? packet::kProtoTcp : packet::kProtoUdp;
    h.source = __builtin_bswap32(0x0A000000U | flow);
    h.destination = __builtin_bswap32(0x0A800000U | (flow & 0xFFU));
    h.source_port = static_cast<std::uint16_t>(flow | 0x80U);
    h.destination_port = __builtin_bswap16(tcp ? 443 : 53);
    h.a = __builtin_bswap16(static_cast<std::uint16_t>(length - 34));
    h.b = identity;
    // unecho takes the payload of a tunnel for IP only if its checksum is right.
    h.checksum = rte_ipv4_cksum(reinterpret_cast<const rte_ipv4_hdr*>(&h.version_ihl));
    auto* data = rte_pktmbuf_mtod(&mbuf, std::uint8_t*);
    if (tunnel_ == Tunnel::kNone) {
        std::memcpy(data, &h, sizeof h);
        refill(data + sizeof h, length - sizeof h);
        mbuf.data_len = static_cast<std::uint16_t>(length);
        mbuf.pkt_len = length;
        return;
    }
    const std::uint32_t skipped = tunnel_ == Tunnel::kGtpU ? packet::kEthernetHeader : 0;
    std::memcpy(data + kTunnelHeaders, reinterpret_cast<const std::uint8_t*>(&h) + skipped,
                sizeof h - skipped);
    refill(data + kTunnelHeaders + sizeof h - skipped, length - sizeof h);
    write_tunnel(mbuf, length - skipped, echo);
}

// Copies come from another endpoint, with other ports and IDs.
void Traffic::write_tunnel(rte_mbuf& mbuf, std::uint32_t inner, bool echo) const {
    constexpr std::uint16_t kVxlanPort = 4789;
    constexpr std::uint16_t kGtpPort = 2152;
    const bool vxlan = tunnel_ == Tunnel::kVxlan;
    const std::uint32_t length = kTunnelHeaders + inner;
    Headers h{};
    h.macs = {2, 0, 0, 0, 1, 1, 2, 0, 0, 0, 1, static_cast<std::uint8_t>(echo ? 3 : 2)};
    h.ether_type = {0x08, 0x00};
    h.version_ihl = 0x45;
    h.length = __builtin_bswap16(static_cast<std::uint16_t>(length - packet::kEthernetHeader));
    h.id = static_cast<std::uint16_t>(echo ? 1 : 2);
    h.ttl = 64;
    h.protocol = packet::kProtoUdp;
    h.source = __builtin_bswap32(echo ? 0xC0000203U : 0xC0000202U);
    h.destination = __builtin_bswap32(0xC0000201U);
    h.source_port = static_cast<std::uint16_t>(echo ? 0xC001 : 0xC002);
    h.destination_port = __builtin_bswap16(vxlan ? kVxlanPort : kGtpPort);
    h.a = __builtin_bswap16(static_cast<std::uint16_t>(length - 34));
    const std::array<std::uint8_t, 8> header =
        vxlan ? std::array<std::uint8_t, 8>{8, 0, 0, 0, 0, 0, 7, 0}
              : std::array<std::uint8_t, 8>{0x30,
                                            255,
                                            static_cast<std::uint8_t>(inner >> 8),
                                            static_cast<std::uint8_t>(inner),
                                            0,
                                            0,
                                            0,
                                            7};
    auto* data = rte_pktmbuf_mtod(&mbuf, std::uint8_t*);
    std::memcpy(data, &h, kTunnelHeaders - header.size());
    std::memcpy(data + kTunnelHeaders - header.size(), header.data(), header.size());
    mbuf.data_len = static_cast<std::uint16_t>(length);
    mbuf.pkt_len = length;
}

// Return a random new packet in reach that has no echo yet; 0: there is none.
std::uint64_t Traffic::take_original() {
    const std::uint64_t reach = std::min<std::uint64_t>(sent_, kReach);
    std::uint64_t back = reach == 0 ? 0 : 1 + reduce(random(), reach);
    for (std::uint64_t tried = 0; tried < reach; ++tried, back = back == 1 ? reach : back - 1) {
        std::uint64_t& original = history_[(sent_ - back) % kHistory];
        if (original != 0) {
            return std::exchange(original, 0);
        }
    }
    return 0;
}

unsigned Traffic::stamp(std::span<rte_mbuf* const> mbufs) {
    unsigned echoes = 0;
    for (rte_mbuf* mbuf : mbufs) {
        const std::uint64_t original = random() < echo_below_ ? take_original() : 0;
        if (original != 0) {
            write(*mbuf, original, true);
            ++echoes;
        } else {
            history_[sent_ % kHistory] = counter_.next;
            write(*mbuf, counter_.next, false);
            ++counter_.next;
            ++sent_;
        }
    }
    return echoes;
}

}  // namespace unecho::bench
