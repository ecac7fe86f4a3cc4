// SPDX-License-Identifier: BSD-3-Clause
#include "packets/keys/observation.h"

#include <algorithm>

#include "filters/hash/keyed.h"
#include "packets/headers.h"
#include "packets/keys/cause.h"
#include "packets/wifi.h"

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

ObservationPoint observation_point_of(LinkType link, const Frame& frame, const Parsed& parsed,
                                      const hash::Secret& secret) noexcept {
    ObservationPoint out;
    out.ttl = hop_limit_of(parsed);
    if (link == LinkType::kEthernet && frame.length >= kMacAddresses) {
        return observation_point_in_ethernet(frame, parsed, secret);
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

ObservationPoint observation_point_inside(const Tunnels& tunnels, LinkType link, const Frame& frame,
                                          const Parsed& innermost,
                                          const hash::Secret& secret) noexcept {
    const Parsed outermost = parse_frame(link, frame);
    ObservationPoint out = observation_point_of(link, frame, outermost, secret);
    out.ttl = hop_limit_of(innermost);
    const DecapsulatedLevels way = decapsulated_levels(tunnels, link, frame, outermost);
    if (way.count != 0) {
        const DecapsulatedLevel& last = way.levels[way.count - 1];
        const std::uint64_t tunnel = tunnel_of(way, outermost) | std::uint64_t{path_of(way)} << 32;
        const FrameTraits inside = frame_traits_inside(last, secret);
        const std::uint64_t within = last.ethernet ? inside.macs : out.ttl;
        out.link = remix(out.link ^ remix(tunnel, 2), within);
        out.pair = remix(out.pair ^ remix(tunnel, 3), last.ethernet ? inside.macs : 0);
        out.tags = inside.tags;
    }
    return out;
}

}  // namespace unecho::packet
