// SPDX-License-Identifier: BSD-3-Clause
#include "packet/observation.h"

#include <algorithm>

#include "hash/keyed.h"
#include "packet/cause.h"
#include "packet/headers.h"
#include "packet/wifi.h"

namespace unecho::packet {
namespace {

constexpr std::uint32_t kOneTag = 4;  // bytes of an 802.1Q tag

std::uint8_t hop_limit_of(const Parsed& parsed) noexcept {
    return parsed.found == Found::kIpv4   ? parsed.ip.data[8]
           : parsed.found == Found::kIpv6 ? parsed.ip.data[7]
                                          : std::uint8_t{0};
}

// One tag stands for itself, several for their hash.
std::uint32_t tags_of(const std::uint8_t* tags, std::uint32_t length,
                      const hash::Secret& secret) noexcept {
    if (length <= kOneTag) {
        return length == kOneTag ? load_be32(tags) : 0;
    }
    return static_cast<std::uint32_t>(hash::keyed_digest(tags, length, secret)) | 1U;
}

}  // namespace

std::uint64_t identified(const ParsedBurst& parsed) noexcept {
    std::uint64_t out = 0;
    for (std::uint64_t rest = parsed.ipv4; rest != 0; rest &= rest - 1) {
        const auto i = static_cast<unsigned>(__builtin_ctzll(rest));
        out |= std::uint64_t{is_identified_ipv4(parsed.ip[i])} << i;
    }
    for (std::uint64_t rest = parsed.ipv6; rest != 0; rest &= rest - 1) {
        const auto i = static_cast<unsigned>(__builtin_ctzll(rest));
        out |= std::uint64_t{is_identified_ipv6(parsed.ip[i])} << i;
    }
    return out;
}

Place place_of(Link link, const Frame& frame, const Parsed& parsed,
               const hash::Secret& secret) noexcept {
    Place out;
    out.ttl = hop_limit_of(parsed);
    const LinkHeader& header = info_of(link).header;
    const std::uint32_t end = is_wifi(link) ? 0 : std::min(header.end, frame.length);
    if (header.begin < end) {
        out.pair = hash::keyed_digest(frame.data + header.begin, end - header.begin, secret);
        out.link = out.pair;
    } else {
        out.link = remix(out.ttl, 1);
    }
    if (link == Link::kEthernet && (parsed.found == Found::kIpv4 || parsed.found == Found::kIpv6)) {
        const auto ip = static_cast<std::uint32_t>(parsed.ip.data - frame.data);
        const std::uint32_t tags = header.tags;
        out.tags = ip < tags + 2 ? 0 : tags_of(frame.data + tags, ip - 2 - tags, secret);
    }
    return out;
}

Place place_inside(const Tunnels& tunnels, Link link, const Frame& frame, const Parsed& innermost,
                   const hash::Secret& secret) noexcept {
    const Parsed outermost = parse_frame(link, frame);
    Place out = place_of(link, frame, outermost, secret);
    out.ttl = hop_limit_of(innermost);
    const OpenedLevels way = opened_levels(tunnels, link, frame, outermost);
    if (way.count != 0) {
        const OpenedLevel& last = way.levels[way.count - 1];
        const std::uint64_t tunnel = tunnel_of(way, outermost);
        const Origin inside = origin_inside(last, secret);
        const std::uint64_t within = last.ethernet ? inside.macs : out.ttl;
        out.link = remix(out.link ^ remix(tunnel, 2), within);
        out.pair = remix(out.pair ^ remix(tunnel, 3), last.ethernet ? inside.macs : 0);
        out.tags = inside.tags;
    }
    return out;
}

}  // namespace unecho::packet
