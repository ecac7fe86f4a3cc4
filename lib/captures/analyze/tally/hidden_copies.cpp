// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/tally/hidden_copies.h"

#include <algorithm>
#include <optional>

#include "packets/headers.h"
#include "packets/keys/observation.h"

namespace unecho::analyze {
namespace {

using packet::IpPacket;
using packet::load_be16;
using packet::load_be32;

constexpr std::uint8_t kProtocolIcmp = 1;
constexpr std::uint32_t kUdpHeader = 8;
constexpr std::uint16_t kCapwapData = 5247;  // port
constexpr std::uint32_t kMinTcpHeader = 20;
// The longest time across a NAT, and within a network card that merges or cuts segments.
constexpr Nanoseconds kAcrossNat = kSecond;
constexpr Nanoseconds kWithinCard = 2 * kMillisecond;

std::uint64_t stir(std::uint64_t sum, std::uint64_t more) noexcept {
    sum = (sum ^ more) * 0x9E3779B97F4A7C15U;
    return sum ^ sum >> 32;
}

// Hash up to 16 bytes from `at` on, mostly in the cache line of the header.
std::uint64_t stir_bytes(std::uint64_t sum, const IpPacket& ip, std::uint32_t at) noexcept {
    constexpr std::uint32_t kMost = 16;
    constexpr std::uint32_t kWord = 8;
    const std::uint32_t end = std::min(ip.length, at + kMost);
    if (at + kWord <= end) {
        sum = stir(sum, packet::load_le64(ip.data + at));
        return stir(sum, packet::load_le64(ip.data + end - kWord));
    }
    for (; at < end; ++at) {
        sum = stir(sum, ip.data[at]);
    }
    return sum;
}

bool holds_ethernet(const std::uint8_t* data, std::uint32_t length) noexcept {
    constexpr std::uint16_t kArp = 0x0806;
    if (length < packet::kEthernetHeader + 1) {
        return false;
    }
    const std::uint16_t type = load_be16(data + packet::kMacAddresses);
    const unsigned version = data[packet::kEthernetHeader] >> 4;
    return (type == packet::kEtherIpv4 && version == 4) ||
           (type == packet::kEtherIpv6 && version == 6) || type == packet::kEtherVlan ||
           type == kArp;
}

bool holds_ip(const std::uint8_t* data, std::uint32_t length) noexcept {
    return length >= packet::kIpv4MinHeader && (data[0] == 0x45 || data[0] >> 4 == 6);
}

// data: payload of a datagram.
bool is_vxlan(const std::uint8_t* data, std::uint32_t length) noexcept {
    constexpr std::uint32_t kHeader = 8;
    return data[0] == 0x08 && length > kHeader && data[1] == 0 && load_be16(data + 2) == 0 &&
           data[7] == 0 && holds_ethernet(data + kHeader, length - kHeader);
}

bool is_geneve(const std::uint8_t* data, std::uint32_t length) noexcept {
    constexpr std::uint16_t kEthernet = 0x6558;
    const std::uint32_t header = 8 + (data[0] & 0x3FU) * 4;
    return data[0] >> 6 == 0 && length > header && (data[1] & 0x3F) == 0 && data[7] == 0 &&
           load_be16(data + 2) == kEthernet && holds_ethernet(data + header, length - header);
}

// Padding and end tags have one byte; all others have a type, a length, and as many bytes.
bool is_tzsp(const std::uint8_t* data, std::uint32_t length) noexcept {
    constexpr std::uint16_t kEthernet = 1;
    constexpr std::uint8_t kEnd = 1;
    if (data[0] != 1 || length < 5 || data[1] > 1 || load_be16(data + 2) != kEthernet) {
        return false;
    }
    std::uint32_t at = 4;
    while (at + 2 <= length && data[at] != kEnd) {
        at += data[at] == 0 ? 1 : 2 + std::uint32_t{data[at + 1]};
    }
    return at + 1 < length && data[at] == kEnd && holds_ethernet(data + at + 1, length - at - 1);
}

bool is_gtp_u(const std::uint8_t* data, std::uint32_t length) noexcept {
    constexpr std::uint8_t kVersionAndType = 0xF0;
    constexpr std::uint8_t kVersion1 = 0x30;
    constexpr std::uint32_t kHeader = 8;
    if ((data[0] & kVersionAndType) != kVersion1 || data[1] != 255 || length <= kHeader) {
        return false;
    }
    const std::uint32_t at = kHeader + ((data[0] & 0x07) != 0 ? 4 : 0);
    return length > at && load_be16(data + 2) <= length - kHeader &&
           holds_ip(data + at, length - at);
}

std::optional<UdpTunnel> tunnel_of(const std::uint8_t* data, std::uint32_t length,
                                   std::uint16_t port) noexcept {
    constexpr std::uint32_t kLeast = 8;
    // No first byte of the five tunnels is larger, given their flags and versions.
    if (length < kLeast || data[0] >= 0x40) {
        return std::nullopt;
    }
    if (is_vxlan(data, length)) {
        return UdpTunnel::kVxlan;
    }
    if (is_tzsp(data, length)) {
        return UdpTunnel::kTzsp;
    }
    if (is_geneve(data, length)) {
        return UdpTunnel::kGeneve;
    }
    if (is_gtp_u(data, length)) {
        return UdpTunnel::kGtpU;
    }
    return port == kCapwapData && data[0] == 0 ? std::optional(UdpTunnel::kCapwap) : std::nullopt;
}

}  // namespace

void HiddenCopyCounts::add(const HiddenCopyCounts& more) {
    identified += more.identified;
    translated += more.translated;
    ttl_step = std::min(ttl_step, more.ttl_step);
    segments += more.segments;
    merged += more.merged;
    merged_within = std::max(merged_within, more.merged_within);
    looked_at += more.looked_at;
    for (const auto& [tunnel, packets] : more.tunnels) {
        tunnels[tunnel] += packets;
    }
    empty += more.empty;
    headless += more.headless;
}

bool HiddenCopyCounts::valid() const {
    return std::all_of(tunnels.begin(), tunnels.end(),
                       [](const auto& one) { return one.first >> 16 < kUdpTunnels.size(); });
}

void HiddenCopyTally::add(std::span<const capture::Record> records,
                          const packet::ParsedBurst& packets, const packet::Tunnels& opened) {
    const std::uint64_t burst = bursts_++;
    if (burst >= kFirstBursts && burst / kRun % kRuns != 0) {
        return;
    }
    counts_.looked_at += records.size();
    for (std::size_t i = 0; i < records.size(); ++i) {
        switch (packets.found(i)) {
            case packet::L3Type::kIpv4:
                add_ipv4(packets.ip[i], records[i].time, opened);
                break;
            case packet::L3Type::kIpv6:
                add_ipv6(packets.ip[i], records[i].time, opened);
                break;
            case packet::L3Type::kNonIp:
            case packet::L3Type::kMalformed:
                counts_.empty += records[i].length == 0 ? 1 : 0;
                break;
        }
    }
}

// at: offset of what follows the IP header. length: of the packet on the wire.
void HiddenCopyTally::note_cut(const IpPacket& ip, std::uint32_t at, std::uint32_t length,
                               std::uint8_t protocol) {
    const std::uint32_t header = protocol == packet::kProtoTcp   ? kMinTcpHeader
                                 : protocol == packet::kProtoUdp ? kUdpHeader
                                                                 : 0;
    counts_.headless += ip.length < at + header && at + header <= length ? 1 : 0;
}

void HiddenCopyTally::add_ipv4(const IpPacket& ip, Nanoseconds time,
                               const packet::Tunnels& opened) {
    const std::uint32_t at = (ip.data[0] & 15U) * 4;
    const std::uint8_t protocol = ip.data[9];
    note_cut(ip, at, load_be16(ip.data + 2), protocol);
    const bool ports = protocol == packet::kProtoTcp || protocol == packet::kProtoUdp;
    if ((!ports && protocol != kProtocolIcmp) || (load_be16(ip.data + 6) & 0x3FFF) != 0 ||
        ip.length < at + kUdpHeader) {
        return;
    }
    const std::uint16_t total = load_be16(ip.data + 2);
    std::uint64_t ends = stir(packet::load_le64(ip.data + 12), protocol);
    ends = ports ? stir(ends, packet::load_le32(ip.data + at)) : ends;
    const Transport packet{ip, at, total != 0 ? total : ip.length, ends, time};
    add_identified(packet);
    if (protocol == packet::kProtoTcp) {
        add_segment(packet);
    } else if (protocol == packet::kProtoUdp) {
        add_datagram(packet, opened);
    }
}

void HiddenCopyTally::add_ipv6(const IpPacket& ip, Nanoseconds time,
                               const packet::Tunnels& opened) {
    constexpr std::uint32_t kAt = packet::kIpv6Header;
    const std::uint8_t protocol = ip.data[6];
    note_cut(ip, kAt, kAt + load_be16(ip.data + 4), protocol);
    if ((protocol != packet::kProtoTcp && protocol != packet::kProtoUdp) ||
        ip.length < kAt + kUdpHeader) {
        return;
    }
    const std::uint16_t payload = load_be16(ip.data + 4);
    std::uint64_t ends = packet::load_le32(ip.data + kAt);
    for (std::uint32_t at = 8; at < kAt; at += 8) {
        ends = stir(ends, packet::load_le64(ip.data + at));
    }
    const Transport packet{ip, kAt, payload != 0 ? kAt + payload : ip.length, ends, time};
    if (protocol == packet::kProtoTcp) {
        add_segment(packet);
    } else {
        add_datagram(packet, opened);
    }
}

// A NAT rewrites addresses and ports, and mostly forwards everything else unchanged.
void HiddenCopyTally::add_identified(const Transport& packet) {
    const std::uint8_t* const ip = packet.ip.data;
    const std::uint8_t protocol = ip[9];
    const std::uint16_t id = load_be16(ip + 4);
    if (id < 2) {
        return;
    }
    std::uint64_t mark = stir(id, packet.length << 8 | protocol);
    const std::uint8_t* const header = ip + packet.at;
    std::uint32_t behind = packet.at + kUdpHeader;
    if (protocol == packet::kProtoTcp) {
        if (packet.ip.length < packet.at + kMinTcpHeader) {
            return;
        }
        mark = stir(stir(mark, packet::load_le64(header + 4)), load_be16(header + 12));
        behind = packet.at + (header[12] >> 4) * 4U;
    } else if (protocol == kProtocolIcmp) {
        mark = stir(mark, std::uint32_t{load_be16(header)} << 16 | load_be16(header + 6));
    } else if (packet.ip.length == behind) {
        return;
    }
    mark = stir_bytes(mark, packet.ip, behind);
    ++counts_.identified;
    Side& side = sides_[mark >> 54];
    const auto ends = static_cast<std::uint32_t>(packet.ends >> 32);
    const std::uint8_t ttl = ip[8];
    const bool known = side.mark == mark && packet.time - side.time < kAcrossNat;
    if (known && side.ends != ends && side.ttl != ttl) {
        const auto step =
            static_cast<std::uint8_t>(side.ttl > ttl ? side.ttl - ttl : ttl - side.ttl);
        counts_.ttl_step = std::min(counts_.ttl_step, step);
        ++counts_.translated;
    } else if (!known) {
        side = {mark, packet.time, ends, ttl};
    }
}

void HiddenCopyTally::note_merged(Nanoseconds first, Nanoseconds last) {
    ++counts_.merged;
    counts_.merged_within = std::max(counts_.merged_within, last - first);
}

// A segment that begins where one begins, ends where another ends, and is longer than both contains
// the bytes of both. Network cards merge segments they receive, and cut those they send.
void HiddenCopyTally::add_segment(const Transport& packet) {
    constexpr std::uint64_t kEnd = 1;  // hashes of ends; 0: of beginnings
    if (packet.ip.length < packet.at + kMinTcpHeader) {
        return;
    }
    const std::uint8_t* const tcp = packet.ip.data + packet.at;
    const std::uint32_t header = packet.at + (tcp[12] >> 4) * 4U;
    if (packet.length <= header) {
        return;
    }
    const std::uint32_t length = packet.length - header;
    const std::uint32_t begin = load_be32(tcp + 4);
    const auto mark_of = [&](std::uint32_t sequence, std::uint64_t which) {
        return stir(packet.ends, std::uint64_t{sequence} << 1 | which);
    };
    const std::uint64_t begin_mark = mark_of(begin, 0);
    const std::uint64_t end_mark = mark_of(begin + length, kEnd);
    const auto known = [&](std::uint64_t mark) {
        Piece& piece = place_of(mark);
        return piece.mark == mark && packet.time - piece.time < kWithinCard ? &piece : nullptr;
    };
    ++counts_.segments;
    Piece* const head = known(begin_mark);
    Piece* const tail = known(end_mark);
    if (head != nullptr && tail != nullptr && head->length < length && tail->length < length) {
        note_merged(head->time, packet.time);
    }
    if (head != nullptr && head->length > length) {
        head->head_seen = true;
    } else {
        place_of(begin_mark) = {begin_mark, packet.time, length, false};
    }
    if (tail == nullptr || tail->length <= length) {
        place_of(end_mark) = {end_mark, packet.time, length, false};
        return;
    }
    Piece* const whole = known(mark_of(begin + length - tail->length, 0));
    if (whole != nullptr && whole->head_seen && whole->length == tail->length) {
        whole->head_seen = false;
        note_merged(whole->time, packet.time);
    }
}

void HiddenCopyTally::add_datagram(const Transport& packet, const packet::Tunnels& opened) {
    const std::uint8_t* const udp = packet.ip.data + packet.at;
    const std::uint16_t from = load_be16(udp);
    const std::uint16_t to = load_be16(udp + 2);
    if (opened.decapsulator_for_ports(from, to) != packet::Tunnels::kNothing) {
        return;
    }
    const std::uint16_t port = from == kCapwapData ? from : to;
    const std::optional<UdpTunnel> tunnel =
        tunnel_of(udp + kUdpHeader, packet.ip.length - packet.at - kUdpHeader, port);
    if (!tunnel) {
        return;
    }
    const std::uint32_t key = static_cast<std::uint32_t>(*tunnel) << 16 | port;
    const auto found = counts_.tunnels.find(key);
    if (found != counts_.tunnels.end()) {
        ++found->second;
    } else if (counts_.tunnels.size() < kMaxTunnels) {
        counts_.tunnels.emplace(key, 1);
    }
}

}  // namespace unecho::analyze
