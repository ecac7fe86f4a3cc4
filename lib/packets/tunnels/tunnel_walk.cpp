// SPDX-License-Identifier: BSD-3-Clause
// The walk of tunnels.h from tunnel to tunnel.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>

#include "base/prefetch.h"
#include "packets/headers.h"
#include "packets/keys/non_ip.h"
#include "packets/locate.h"
#include "packets/tags.h"
#include "packets/tunnels/decapsulators.h"
#include "packets/tunnels/tunnel_prefilter.h"
#include "packets/tunnels/tunnels.h"

namespace unecho::packet {
namespace {

// Skip authentication headers, which in IPv6 are extension headers (RFC 4302).
Upper upper_behind_ah(const IpPacket& ip) noexcept {
    Upper upper = upper_of_ipv4(ip);
    while (upper.protocol == kProtoAh && !upper.later_fragment && upper.whole) {
        if (ip.length < upper.offset + 8) {
            upper.whole = false;
            break;
        }
        upper.protocol = ip.data[upper.offset];
        upper.offset += (ip.data[upper.offset + 1] + std::uint64_t{2}) * 4;
        upper.whole = upper.offset <= ip.length;
    }
    return upper;
}

// Open the payload of UDP, up to UDP's own length if that is shorter.
[[gnu::always_inline]] inline DecapsulatedPayload look_into_udp(const Tunnels& tunnels,
                                                                const Upper& upper,
                                                                const Frame& rest) noexcept {
    constexpr std::uint32_t kUdpHeader = 8;
    if (upper.later_fragment || rest.length < kUdpHeader) {
        return kNothingThere;
    }
    const std::uint8_t way =
        tunnels.decapsulator_for_ports(load_be16(rest.data), load_be16(rest.data + 2));
    if (way == Tunnels::kNothing) {
        return kNothingThere;
    }
    if (upper.fragment) {
        return {PayloadKind::kFragment};
    }
    const std::uint32_t length = load_be16(rest.data + 4);
    if (length != 0 && length < kUdpHeader) {
        return kMalformed;
    }
    const std::uint32_t end = length == 0 ? rest.length : std::min(length, rest.length);
    return kDecapsulators[way].open({rest.data + kUdpHeader, end - kUdpHeader}, tunnels.listed());
}

// Return true for the carrier of most tunnels: UDP in unfragmented IPv4 without options.
bool is_plain_udp(const IpPacket& ip) noexcept {
    return ip.data[0] == 0x45 && ip.data[9] == kProtoUdp && (load_be16(ip.data + 6) & 0x3FFF) == 0;
}

DecapsulatedPayload look_into(const Tunnels& tunnels, bool ipv4, const IpPacket& ip) noexcept {
    if (ipv4 && is_plain_udp(ip)) {
        constexpr Upper kUdp{kIpv4MinHeader, kProtoUdp, false, false, true};
        return look_into_udp(tunnels, kUdp, behind({ip.data, ip.length}, kIpv4MinHeader));
    }
    const Upper upper = ipv4 ? upper_behind_ah(ip) : upper_of_ipv6(ip);
    if (!upper.whole) {  // the protocol is not known
        return kNothingThere;
    }
    const Frame rest = behind({ip.data, ip.length}, static_cast<std::uint32_t>(upper.offset));
    const std::uint8_t way = tunnels.decapsulator_for_protocol(upper.protocol);
    if (way == Tunnels::kByPort) {
        return look_into_udp(tunnels, upper, rest);
    }
    if (way >= Tunnels::kExtension) {  // no encapsulation, or a header that ends the walk
        return kNothingThere;
    }
    return upper.fragment ? DecapsulatedPayload{PayloadKind::kFragment}
                          : kDecapsulators[way].open(rest, tunnels.listed());
}

bool holds_packet(const Frame& ethernet) noexcept {
    IpPacket ip;
    return is_ip(parse_ethernet(ethernet, ip));
}

// Open what follows the last MPLS label, if no IP packet does. Nothing says whether a control word
// precedes the Ethernet frame (RFC 4448, section 4.6). Its first nibble is 0, as in many MAC
// addresses. So take the reading that leads to a packet, first with a control word. Nibble 1 is an
// associated channel (RFC 4385) or a MAC address; any other a MAC address.
DecapsulatedPayload open_pseudowire(const Frame& rest) noexcept {
    constexpr std::uint32_t kControlWord = 4;
    if (rest.length == 0) {
        return kMalformed;
    }
    const unsigned nibble = rest.data[0] >> 4;
    if (nibble == 0 && rest.length >= kControlWord && holds_packet(behind(rest, kControlWord))) {
        return {PayloadKind::kEthernet, behind(rest, kControlWord)};
    }
    return nibble > 1 || holds_packet(rest) ? DecapsulatedPayload{PayloadKind::kEthernet, rest}
                                            : kOther;
}

// Open what follows EtherType, tags and labels, if no IP packet does.
DecapsulatedPayload look_behind_type(const Tunnels& tunnels, std::uint16_t type,
                                     const Frame& rest) noexcept {
    if (type == kTypePbb && tunnels.listed().has(Encapsulation::kPbb)) {
        constexpr std::uint32_t kServiceTag = 4;
        constexpr std::uint32_t kServiceId = 0xFF'FFFF;
        if (rest.length < kServiceTag) {
            return kMalformed;
        }
        return {PayloadKind::kEthernet,
                behind(rest, kServiceTag),
                {TenantSpace::kService, load_be32(rest.data) & kServiceId}};
    }
    return is_mpls(type) && tunnels.listed().has(Encapsulation::kMplsPw) ? open_pseudowire(rest)
                                                                         : kNothingThere;
}

// Look into an Ethernet frame without an IP packet.
DecapsulatedPayload look_below_ethernet(const Tunnels& tunnels, const Frame& frame) noexcept {
    std::uint16_t type = load_be16(frame.data + kEthernetHeader - 2);
    std::uint32_t at = kEthernetHeader;
    if (!skip_tags(frame.data, frame.length, type, at) ||
        (is_mpls(type) && !skip_labels(frame.data, frame.length, at))) {
        return kMalformed;
    }
    return look_behind_type(tunnels, type, behind(frame, at));
}

// Look into a frame of any link type without an IP packet.
DecapsulatedPayload look_below_link(const Tunnels& tunnels, LinkType link,
                                    const Frame& frame) noexcept {
    if (link == LinkType::kEthernet) {
        return look_below_ethernet(tunnels, frame);
    }
    const LinkInfo& info = info_of(link);
    const NonIpFrame other =
        (info.typed != nullptr ? info.typed : info.non_ip)(frame.data, frame.length);
    const NonIpNumber what = info_of(other.kind).non_ip_number;
    if (what != NonIpNumber::kEtherType && what != NonIpNumber::kHdlcEtherType) {
        return kNothingThere;
    }
    // Undo the removal of padding: here it may be the end of the packet inside.
    std::uint32_t end = frame.length;
    std::ignore = info.locate(frame.data, end);
    const auto at = static_cast<std::uint32_t>(other.body - frame.data);
    return look_behind_type(tunnels, other.type, {other.body, end - at});
}

// Parse the packet at the beginning of a payload.
L3Type parse_inside(const DecapsulatedPayload& inside, IpPacket& ip) noexcept {
    const Frame& rest = inside.rest;
    const auto at = [&](const Located& located) {
        return bound(located.found, behind(rest, located.offset), ip);
    };
    // Fast paths for the most frequent cases.
    const bool by_version = inside.next == PayloadKind::kIpByVersion;
    if ((by_version || inside.next == PayloadKind::kIpv4) &&
        bound_plain_ipv4(rest.data, rest.length, ip)) {
        return L3Type::kIpv4;
    }
    if (inside.next == PayloadKind::kEthernet && rest.length >= kEthernetHeader &&
        load_be16(rest.data + kEthernetHeader - 2) == kEtherIpv4 &&
        bound_plain_ipv4(rest.data + kEthernetHeader, rest.length - kEthernetHeader, ip)) {
        return L3Type::kIpv4;
    }
    switch (inside.next) {
        case PayloadKind::kEthernet:
            return parse_ethernet(rest, ip);
        case PayloadKind::kIpv4:
            return bound(L3Type::kIpv4, rest, ip);
        case PayloadKind::kIpv6:
            return bound(L3Type::kIpv6, rest, ip);
        case PayloadKind::kIpByVersion:
            return at(locate_by_version(rest.data, rest.length, 0, L3Type::kNonIp));
        case PayloadKind::kSoundIp:
            return at(locate_sound_ip(rest.data, rest.length, 0));
        case PayloadKind::kMpls:
            return at(locate_below_mpls(rest.data, rest.length, 0));
        case PayloadKind::kPpp:
            return parse_ppp(rest, ip);
        default:
            return L3Type::kMalformed;
    }
}

// Look into what takes the place of a packet.
DecapsulatedPayload look_below(const Tunnels& tunnels, const DecapsulatedPayload& inside) noexcept {
    if (inside.next == PayloadKind::kEthernet) {
        return look_below_ethernet(tunnels, inside.rest);
    }
    std::uint32_t at = 0;
    if (inside.next == PayloadKind::kMpls && tunnels.listed().has(Encapsulation::kMplsPw) &&
        skip_labels(inside.rest.data, inside.rest.length, at)) {
        return open_pseudowire(behind(inside.rest, at));
    }
    return kNothingThere;
}

// Walks through the tunnels of a burst, step by step for all packets together. So the prefilter can
// check many packets at once.
class Walks {
  public:
    Walks(const Tunnels& tunnels, std::size_t count, ParsedBurst& parsed, NextHeaders& next,
          DecapsulatedBurst& opened) noexcept
        : tunnels_(tunnels), count_(count), parsed_(parsed), next_(next), opened_(opened) {}

    // Return those of `packets` that may hold another packet: all that do, and few others.
    [[nodiscard]] std::uint64_t candidates(std::uint64_t packets) const noexcept {
        const std::uint64_t out =
            packets & TunnelPrefilter(next_).with_signs(tunnels_.prefilter_fields(), count_);
        for_each_bit(out, [&](std::size_t i) { prefetch_line(parsed_.ip[i].data + 64); });
        return out;
    }

    // Move on to the packets inside; return the mask of those that exist.
    std::uint64_t step(std::uint64_t packets) noexcept {
        std::uint64_t ipv4 = 0;
        std::uint64_t ipv6 = 0;
        for_each_bit(packets, [&](std::size_t i) {
            DecapsulatedPayload inside =
                look_into(tunnels_, (parsed_.ipv4 >> i & 1) != 0, parsed_.ip[i]);
            const L3Type found = enter(i, inside);
            ipv4 |= std::uint64_t{found == L3Type::kIpv4} << i;
            ipv6 |= std::uint64_t{found == L3Type::kIpv6} << i;
        });
        return take(ipv4, ipv6);
    }

    // Likewise, from frames without an IP packet.
    std::uint64_t step_from_link(std::uint64_t packets, LinkType link,
                                 std::span<const Frame> frames) noexcept {
        std::uint64_t ipv4 = 0;
        std::uint64_t ipv6 = 0;
        for_each_bit(packets, [&](std::size_t i) {
            DecapsulatedPayload inside = look_below_link(tunnels_, link, frames[i]);
            const L3Type found = enter(i, inside);
            ipv4 |= std::uint64_t{found == L3Type::kIpv4} << i;
            ipv6 |= std::uint64_t{found == L3Type::kIpv6} << i;
        });
        return take(ipv4, ipv6);
    }

  private:
    template <typename Function>
    static void for_each_bit(std::uint64_t mask, Function&& function) noexcept {
        for (; mask != 0; mask &= mask - 1) {
            function(static_cast<std::size_t>(std::countr_zero(mask)));
        }
    }

    // Move packet i on to the next packet and update parsed_; return kNonIp if the walk ended.
    // `inside` is modified in place: copying it right after it was made would stall on store
    // forwarding (a load wider than the stores before it).
    L3Type enter(std::size_t i, DecapsulatedPayload& inside) noexcept {
        const IpPacket before = parsed_.ip[i];
        TenantId tenant{};  // used once a packet is reached
        // Count one more level, whatever is in it.
        const auto check_depth = [&] {
            if (levels_[i] == kMaxLevels && inside.next > PayloadKind::kFragment) {
                inside = {PayloadKind::kTooDeep};
            }
        };
        check_depth();
        while (leads_on(inside.next)) {
            ++levels_[i];
            tenant = inside.tenant.any() ? inside.tenant : tenant;
            const L3Type found = parse_inside(inside, parsed_.ip[i]);
            if (is_ip(found)) {
                if (tenant.any() || (opened_.opened >> i & 1) == 0) {
                    opened_.tenants[i] = tenant;
                }
                next_.note(i, found, parsed_.ip[i]);
                return found;
            }
            if (found == L3Type::kMalformed) {
                inside = kMalformed;
                break;
            }
            inside = look_below(tunnels_, inside);
            if (inside.next == PayloadKind::kNothing) {
                inside = kOther;
                break;
            }
            check_depth();
        }
        parsed_.ip[i] = before;
        note_end(i, inside.next);
        return L3Type::kNonIp;
    }

    std::uint64_t take(std::uint64_t ipv4, std::uint64_t ipv6) noexcept {
        const std::uint64_t taken = ipv4 | ipv6;
        opened_.opened |= taken;
        parsed_.non_ip &= ~taken;
        parsed_.ipv4 = (parsed_.ipv4 & ~taken) | ipv4;
        parsed_.ipv6 = (parsed_.ipv6 & ~taken) | ipv6;
        return taken;
    }

    void note_end(std::size_t i, PayloadKind end) noexcept {
        const std::uint64_t bit = std::uint64_t{1} << i;
        switch (end) {
            case PayloadKind::kFragment:
                opened_.fragments |= bit;
                break;
            case PayloadKind::kMalformed:
                opened_.malformed |= bit;
                break;
            case PayloadKind::kOther:
                opened_.other |= bit;
                break;
            case PayloadKind::kTooDeep:
                opened_.too_deep |= bit;
                break;
            default:
                break;
        }
    }

    const Tunnels& tunnels_;
    const std::size_t count_;
    ParsedBurst& parsed_;
    NextHeaders& next_;
    DecapsulatedBurst& opened_;
    std::array<std::uint8_t, kMaxBurst> levels_{};
};

void walk(const Tunnels& tunnels, LinkType link, std::span<const Frame> frames, ParsedBurst& parsed,
          NextHeaders& next, DecapsulatedBurst& opened) noexcept {
    opened.clear();
    Walks walks(tunnels, frames.size(), parsed, next, opened);
    std::uint64_t inside = parsed.ipv4 | parsed.ipv6;
    if (tunnels.below_link()) {
        inside |= walks.step_from_link(parsed.non_ip, link, frames);
    }
    for (inside = walks.candidates(inside); inside != 0; inside = walks.candidates(inside)) {
        inside = walks.step(inside);
    }
}

}  // namespace

void parse_innermost(const Tunnels& tunnels, LinkType link, std::span<const Frame> frames,
                     ParsedBurst& parsed, DecapsulatedBurst& opened) noexcept {
    NextHeaders next;
    parse_burst(link, frames, parsed, next);
    walk(tunnels, link, frames, parsed, next, opened);
}

void decapsulate_burst(const Tunnels& tunnels, LinkType link, std::span<const Frame> frames,
                       ParsedBurst& parsed, DecapsulatedBurst& opened) noexcept {
    NextHeaders next;
    for (std::size_t i = 0; i < frames.size(); ++i) {
        next.note(i, parsed.found(i), parsed.ip[i]);
    }
    walk(tunnels, link, frames, parsed, next, opened);
}

// --- The way of a single packet ---

namespace {

// Return the encapsulation that look_into() opened.
Encapsulation encapsulation_of(const Tunnels& tunnels, bool ipv4, const IpPacket& ip) noexcept {
    constexpr std::uint32_t kUdpHeader = 8;
    const Upper upper = ipv4 ? upper_behind_ah(ip) : upper_of_ipv6(ip);
    Frame rest = behind({ip.data, ip.length}, static_cast<std::uint32_t>(upper.offset));
    std::uint8_t way = tunnels.decapsulator_for_protocol(upper.protocol);
    if (way == Tunnels::kByPort) {
        way = tunnels.decapsulator_for_ports(load_be16(rest.data), load_be16(rest.data + 2));
        rest = behind(rest, kUdpHeader);
    }
    const Encapsulation one = kDecapsulators[way].encapsulation;
    if (one != Encapsulation::kGre && one != Encapsulation::kErspan) {
        return one;
    }
    const std::uint16_t type = load_be16(rest.data + 2);
    return type == kTypeErspan || type == kTypeErspan3 ? Encapsulation::kErspan
                                                       : Encapsulation::kGre;
}

// Return the encapsulation that takes the place of an IP packet.
Encapsulation encapsulation_below(const DecapsulatedPayload& inside) noexcept {
    return inside.tenant.space() == TenantSpace::kService ? Encapsulation::kPbb
                                                          : Encapsulation::kMplsPw;
}

}  // namespace

DecapsulatedLevels decapsulated_levels(const Tunnels& tunnels, LinkType link, const Frame& frame,
                                       const Parsed& outermost) noexcept {
    DecapsulatedLevels out;
    DecapsulatedPayload inside = kNothingThere;
    Encapsulation one{};
    const auto enter = [&](const Parsed& packet) {
        const bool ipv4 = packet.found == L3Type::kIpv4;
        inside = look_into(tunnels, ipv4, packet.ip);
        one = leads_on(inside.next) ? encapsulation_of(tunnels, ipv4, packet.ip) : one;
    };
    const auto go_below = [&](const DecapsulatedPayload& found) {
        inside = found;
        one = encapsulation_below(inside);
    };
    if (is_ip(outermost.found)) {
        enter(outermost);
    } else {
        go_below(look_below_link(tunnels, link, frame));
    }
    for (unsigned level = 0; level < kMaxLevels && leads_on(inside.next); ++level) {
        DecapsulatedLevel& now = out.levels[level];
        now = {one, inside.tenant, inside.rest, inside.next == PayloadKind::kEthernet, {}};
        now.packet.found = parse_inside(inside, now.packet.ip);
        if (is_ip(now.packet.found)) {
            out.count = level + 1;
            enter(now.packet);
        } else if (now.packet.found == L3Type::kMalformed) {
            break;
        } else {
            go_below(look_below(tunnels, inside));
        }
    }
    return out;
}

}  // namespace unecho::packet
