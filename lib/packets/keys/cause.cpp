// SPDX-License-Identifier: BSD-3-Clause
#include "packets/keys/cause.h"

#include <algorithm>
#include <cstddef>

#include "filters/hash/digest.h"
#include "filters/hash/keyed.h"
#include "packets/headers.h"
#include "packets/keys/checksums.h"
#include "packets/keys/digests.h"
#include "packets/keys/non_ip.h"
#include "packets/wifi.h"

namespace unecho::packet {
namespace {

constexpr Differences bit(bool differs, Difference one) noexcept {
    return static_cast<Differences>((differs ? 1U : 0U) << static_cast<unsigned>(one));
}

constexpr bool is_air_mark(std::uint32_t padding) noexcept {
    return padding != 0 && (padding & 1U) == 0;
}

// Return the bits in which two marks differ; 0 if one of them is not a mark.
constexpr std::uint32_t air_difference(std::uint32_t original, std::uint32_t echo) noexcept {
    return is_air_mark(original) && is_air_mark(echo) ? original ^ echo : 0;
}

constexpr std::uint32_t without_mark(std::uint32_t padding) noexcept {
    return is_air_mark(padding) ? 0 : padding;
}

// Return an odd hash, or 0 if there are no bytes.
std::uint32_t short_hash(const std::uint8_t* data, std::uint32_t length, std::uint32_t kind,
                         const hash::Secret& secret) noexcept {
    if (length == 0) {
        return 0;
    }
    const Digest digest = hash::keyed_digest(data, length, secret);
    return static_cast<std::uint32_t>(remix(digest, kind)) | 1U;
}

void read_link(LinkType link, const Frame& frame, std::uint32_t ip_offset,
               const hash::Secret& secret, FrameTraits& origin) noexcept {
    const LinkHeader& header = info_of(link).header;
    const std::uint32_t end = std::min(header.end, ip_offset);
    const std::uint32_t begin = std::min(header.begin, end);
    origin.macs =
        short_hash(frame.data + begin, end - begin, static_cast<std::uint32_t>(link), secret);
    const std::uint32_t tags = std::min(header.tags, ip_offset);
    origin.tags =
        ip_offset <= header.plain ? 0 : short_hash(frame.data + tags, ip_offset - tags, 1, secret);
}

// Read a data frame with an EtherType whose payload is at ip_offset. Its three addresses are
// contiguous. The fourth, a station's like the third, is not included. 802.11 has no padding.
void read_air(LinkType link, const Frame& frame, std::uint32_t ip_offset,
              const hash::Secret& secret, FrameTraits& origin) noexcept {
    const WifiFrame wifi = find_wifi(link, frame.data, frame.length);
    const std::uint8_t* const header = frame.data + wifi.begin;
    const std::uint32_t tags = wifi_payload(wifi, frame.data).offset;
    origin.macs = short_hash(header + kWifiAddresses, kWifiSequence - kWifiAddresses,
                             static_cast<std::uint32_t>(LinkType::kWifi), secret);
    origin.tags = short_hash(frame.data + tags, ip_offset - tags, 1, secret);
    origin.padding = air_mark(static_cast<std::uint16_t>(load_le16(header + kWifiSequence)),
                              (header[1] & kWifiRetry) != 0);
}

// Read what non_ip "frame" does not compare: tags, labels and bytes behind the end. Of 802.11 with
// an EtherType these are the fields that the radios wrote.
void read_without_ip(LinkType link, const Frame& frame, const NonIpFrame& other,
                     const hash::Secret& secret, FrameTraits& origin) noexcept {
    const auto begin = static_cast<std::uint32_t>(other.body - frame.data);
    if (is_wifi(link)) {
        if (other.kind == LinkType::kEthernet) {
            read_air(link, frame, begin, secret, origin);
        }
        return;
    }
    const std::uint32_t end = std::min(begin + other.length, frame.length);
    origin.padding = short_hash(frame.data + end, frame.length - end, 2, secret);
    const LinkHeader& header = info_of(link).header;
    if (header.plain != 0 && begin > header.plain) {
        origin.tags = short_hash(frame.data + header.tags, begin - header.tags, 1, secret);
    }
}

// Mix in source and destination address, in this order.
std::uint64_t mixed_addresses(std::uint64_t hash, const Parsed& packet) noexcept {
    const bool ipv4 = packet.found == L3Type::kIpv4;
    if (!ipv4 && packet.found != L3Type::kIpv6) {
        return hash;
    }
    const std::uint8_t* at = packet.ip.data + (ipv4 ? 12 : 8);
    for (unsigned i = 0; i < (ipv4 ? 2 : 8); ++i) {
        hash = remix(hash ^ load_be32(at + std::size_t{4} * i), 1);
    }
    return hash;
}

// Mark the IPv4 header checksum if the upper-layer checksum is not filled in yet.
void read_checksum(const Frame& frame, const Parsed& parsed, FrameTraits& origin) noexcept {
    constexpr std::uint16_t kPartial = 0xA5A5;
    const auto room = static_cast<std::uint32_t>(frame.data + frame.length - parsed.ip.data);
    if (may_be_partial(parsed.found, parsed.ip) &&
        fill_checksum(parsed.found, parsed.ip, room).size != 0) {
        origin.checksum ^= kPartial;
    }
}

void read_header(const Parsed& parsed, FrameTraits& origin) noexcept {
    const std::uint8_t* const ip = parsed.ip.data;
    if (parsed.found == L3Type::kIpv4) {
        origin.tos = ip[1];
        origin.ttl = ip[8];
        origin.checksum = load_be16(ip + 10);
    } else {
        origin.tos = static_cast<std::uint8_t>(load_be16(ip) >> 4);
        origin.ttl = ip[7];
    }
}

}  // namespace

Differences differences_of(const FrameTraits& original, const FrameTraits& echo) noexcept {
    const bool header = original.ttl != echo.ttl || original.tos != echo.tos;
    const std::uint32_t air = air_difference(original.padding, echo.padding);
    return bit(original.ttl != echo.ttl, Difference::kHopLimit) |
           bit(original.macs != echo.macs, Difference::kMacs) |
           bit(original.tags != echo.tags, Difference::kTags) |
           bit(original.tos != echo.tos, Difference::kTos) |
           bit(without_mark(original.padding) != without_mark(echo.padding), Difference::kPadding) |
           bit((air & 2U) != 0, Difference::kRetry) | bit((air & ~2U) != 0, Difference::kNumber) |
           bit(!header && original.checksum != echo.checksum, Difference::kChecksum);
}

Differences differences_of(const TunnelTraits& original, const TunnelTraits& echo) noexcept {
    const bool encapsulation = original.path != echo.path;
    const bool tunnel = !encapsulation && original.tunnel != echo.tunnel;
    return bit(encapsulation, Difference::kEncapsulation) | bit(tunnel, Difference::kTunnel) |
           bit(original.outer != echo.outer, Difference::kOuter);
}

Cause cause_of(Differences differences) noexcept {
    if (has(differences, Difference::kEncapsulation)) {
        return Cause::kTunnelled;
    }
    if (has(differences, Difference::kTunnel)) {
        return Cause::kTunnels;
    }
    if (has(differences, Difference::kHopLimit)) {
        return has(differences, Difference::kMacs) ? Cause::kRouted : Cause::kHopLimit;
    }
    if (has(differences, Difference::kTags)) {
        return Cause::kRetagged;
    }
    if (has(differences, Difference::kMacs)) {
        return Cause::kRelayed;
    }
    if (has(differences, Difference::kRetry) || has(differences, Difference::kNumber)) {
        return Cause::kResent;
    }
    if (has(differences, Difference::kTos)) {
        return Cause::kRemarked;
    }
    if (has(differences, Difference::kPadding)) {
        return Cause::kPadded;
    }
    if (has(differences, Difference::kChecksum)) {
        return Cause::kChecksum;
    }
    return has(differences, Difference::kOuter) ? Cause::kOuter : Cause::kIdentical;
}

TunnelPath path_of(const DecapsulatedLevels& way) noexcept {
    TunnelPath path = 0;
    for (unsigned i = way.count - std::min(way.count, kPathLevels); i < way.count; ++i) {
        path = path << kPathBits | (static_cast<TunnelPath>(way.levels[i].encapsulation) + 1);
    }
    return path;
}

EncapsulationSet encapsulations_of(TunnelPath path) noexcept {
    EncapsulationSet set;
    for (; path != 0; path >>= kPathBits) {
        set.add(static_cast<Encapsulation>((path & kPathMask) - 1));
    }
    return set;
}

std::uint32_t tunnel_of(const DecapsulatedLevels& way, const Parsed& outermost) noexcept {
    std::uint64_t hash = mixed_addresses(0, outermost);
    for (unsigned i = 0; i < way.count; ++i) {
        hash = remix(hash ^ way.levels[i].tenant.bits(), 2);
        if (i + 1 < way.count) {
            hash = mixed_addresses(hash, way.levels[i].packet);
        }
    }
    return static_cast<std::uint32_t>(hash) | 1U;
}

std::uint32_t tenant_mark(const TenantId& tenant) noexcept {
    return !tenant.any() ? 0 : static_cast<std::uint32_t>(remix(tenant.bits(), 4)) | 1U;
}

FrameTraits frame_traits(LinkType link, const Frame& frame, const Parsed& parsed,
                         const hash::Secret& secret) noexcept {
    FrameTraits out;
    if (parsed.found == L3Type::kMalformed) {
        return out;
    }
    if (parsed.found == L3Type::kNonIp) {
        read_without_ip(link, frame, non_ip_frame(link, frame.data, frame.length), secret, out);
        return out;
    }
    const auto offset = static_cast<std::uint32_t>(parsed.ip.data - frame.data);
    if (is_wifi(link)) {
        read_air(link, frame, offset, secret, out);
    } else {
        read_link(link, frame, offset, secret, out);
        const std::uint32_t end = offset + parsed.ip.length;
        out.padding = short_hash(frame.data + end, frame.length - end, 2, secret);
    }
    read_header(parsed, out);
    read_checksum(frame, parsed, out);
    return out;
}

// Without an Ethernet frame, nothing precedes the packet.
FrameTraits frame_traits_inside(const DecapsulatedLevel& level,
                                const hash::Secret& secret) noexcept {
    if (level.ethernet) {
        return frame_traits(LinkType::kEthernet, level.payload, level.packet, secret);
    }
    const auto before = static_cast<std::uint32_t>(level.packet.ip.data - level.payload.data);
    return frame_traits(LinkType::kRaw, {level.packet.ip.data, level.payload.length - before},
                        level.packet, secret);
}

}  // namespace unecho::packet
