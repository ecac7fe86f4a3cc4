// SPDX-License-Identifier: BSD-3-Clause
#include "packet/observation.h"

#include <algorithm>

#include "hash/keyed.h"
#include "packet/cause.h"
#include "packet/headers.h"
#include "packet/wifi.h"

namespace unecho::packet {

std::uint32_t tags_mark(const std::uint8_t* tags, std::uint32_t length,
                        const hash::Secret& secret) noexcept {
    constexpr std::uint32_t kOneTag = 4;  // bytes of an 802.1Q tag
    if (length <= kOneTag) {
        return length == kOneTag ? load_be32(tags) : 0;
    }
    return static_cast<std::uint32_t>(hash::keyed_digest(tags, length, secret)) | 1U;
}

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
    if (link == Link::kEthernet && frame.length >= kMacAddresses) {
        return place_in_ethernet(frame, parsed, secret);
    }
    const LinkHeader& header = info_of(link).header;
    const std::uint32_t end = is_wifi(link) ? 0 : std::min(header.end, frame.length);
    if (header.begin < end) {
        out.pair = hash::keyed_digest(frame.data + header.begin, end - header.begin, secret);
        out.link = out.pair;
    } else {
        out.link = remix(out.ttl, 1);
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
        const std::uint64_t tunnel = tunnel_of(way, outermost) | std::uint64_t{path_of(way)} << 32;
        const Origin inside = origin_inside(last, secret);
        const std::uint64_t within = last.ethernet ? inside.macs : out.ttl;
        out.link = remix(out.link ^ remix(tunnel, 2), within);
        out.pair = remix(out.pair ^ remix(tunnel, 3), last.ethernet ? inside.macs : 0);
        out.tags = inside.tags;
    }
    return out;
}

}  // namespace unecho::packet
