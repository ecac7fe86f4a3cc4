// SPDX-License-Identifier: BSD-3-Clause
#include "support/wrappings.h"

#include <array>
#include <initializer_list>

#include "support/link_frames.h"

namespace unecho::test {
namespace {

using packet::Encapsulation;

bool coin(Draw& draw) {
    return (draw() & 1) != 0;
}

Bytes be16(std::uint32_t value) {
    return {static_cast<std::uint8_t>(value >> 8), static_cast<std::uint8_t>(value)};
}

Bytes be32(std::uint32_t value) {
    return be16(value >> 16) + be16(value);
}

Bytes be24(std::uint32_t value) {
    return Bytes{static_cast<std::uint8_t>(value >> 16)} + be16(value);
}

Bytes some(std::size_t bytes, Draw& draw) {
    Bytes out(bytes);
    for (std::uint8_t& byte : out) {
        byte = static_cast<std::uint8_t>(draw());
    }
    return out;
}

unsigned version_of(const Bytes& ip) {
    return ip[0] >> 4;
}

std::uint16_t ether_type_of(const Bytes& ip) {
    return version_of(ip) == 4 ? 0x0800 : 0x86DD;
}

// --- headers below: IP of either version, and UDP
// -------------------------------------------------

PacketSpec some_header(Draw& draw) {
    PacketSpec spec;
    spec.version = coin(draw) ? 4 : 6;
    spec.source = static_cast<std::uint32_t>(draw());
    spec.destination = static_cast<std::uint32_t>(draw());
    spec.id = static_cast<std::uint16_t>(draw());
    spec.ttl = static_cast<std::uint8_t>(1 + draw() % 255);
    if (spec.version == 6 && coin(draw)) {
        spec.extensions = {options_extension(0), fragment_extension(0, false)};
    } else if (spec.version == 4 && coin(draw)) {
        spec.options = some(8, draw);
    }
    return spec;
}

Bytes in_ip(std::uint8_t protocol, const Bytes& payload, Draw& draw) {
    PacketSpec spec = some_header(draw);
    spec.protocol = protocol;
    spec.payload = payload;
    return build_ip(spec);
}

Bytes in_udp_from(std::uint16_t from, std::uint16_t to, const Bytes& payload, Draw& draw) {
    PacketSpec spec = some_header(draw);
    spec.source_port = from;
    spec.destination_port = to;
    spec.payload = payload;
    return build_ip(spec);
}

Bytes in_udp(std::uint16_t to, const Bytes& payload, Draw& draw) {
    return in_udp_from(static_cast<std::uint16_t>(49152 + draw() % 16384), to, payload, draw);
}

// --- encapsulations
// -------------------------------------------------------------------------------

Bytes vxlan(const Bytes& inner, std::uint32_t number, Draw& draw) {
    constexpr std::array<std::uint16_t, 3> kPorts{4789, 8472, 48879};
    const bool group = coin(draw);
    return in_udp(kPorts[draw() % 3],
                  Bytes{static_cast<std::uint8_t>(group ? 0x88 : 0x08), 0} +
                      be16(group ? static_cast<std::uint32_t>(draw()) : 0) + be24(number) +
                      Bytes{0} + inner,
                  draw);
}

Bytes gpe(std::uint8_t flags, std::uint8_t next, const Bytes& inner, std::uint32_t number,
          Draw& draw) {
    return in_udp(4790, Bytes{flags, 0, 0, next} + be24(number) + Bytes{0} + inner, draw);
}

Bytes vxlan_gpe_ethernet(const Bytes& inner, std::uint32_t number, Draw& draw) {
    return coin(draw) ? gpe(0x08, 0, inner, number, draw) : gpe(0x0C, 3, inner, number, draw);
}

Bytes vxlan_gpe_ip(const Bytes& inner, std::uint32_t number, Draw& draw) {
    return gpe(0x0C, version_of(inner) == 4 ? 1 : 2, inner, number, draw);
}

Bytes geneve(std::uint16_t type, const Bytes& inner, std::uint32_t number, Draw& draw) {
    const std::size_t words = draw() % 4;
    return in_udp(6081,
                  Bytes{static_cast<std::uint8_t>(words), 0} + be16(type) + be24(number) +
                      Bytes{0} + some(words * 4, draw) + inner,
                  draw);
}

Bytes geneve_ethernet(const Bytes& inner, std::uint32_t number, Draw& draw) {
    return geneve(0x6558, inner, number, draw);
}

Bytes geneve_ip(const Bytes& inner, std::uint32_t number, Draw& draw) {
    return geneve(ether_type_of(inner), inner, number, draw);
}

Bytes gre_header(std::uint16_t type, bool checksum, const Bytes& key, bool sequence, Draw& draw) {
    const std::uint32_t flags =
        (checksum ? 0x8000U : 0) | (key.empty() ? 0 : 0x2000U) | (sequence ? 0x1000U : 0);
    return be16(flags) + be16(type) + some(checksum ? 4 : 0, draw) + key +
           some(sequence ? 4 : 0, draw);
}

Bytes in_gre(std::uint16_t type, const Bytes& key, const Bytes& inner, Draw& draw) {
    const Bytes gre = gre_header(type, coin(draw), key, coin(draw), draw) + inner;
    return coin(draw) ? in_ip(47, gre, draw) : in_udp(4754, gre, draw);
}

Bytes gre_ip(const Bytes& inner, std::uint32_t /*number*/, Draw& draw) {
    return in_gre(ether_type_of(inner), {}, inner, draw);
}

Bytes gre_ip_with_key(const Bytes& inner, std::uint32_t number, Draw& draw) {
    return in_gre(ether_type_of(inner), be32(number), inner, draw);
}

Bytes nvgre(const Bytes& inner, std::uint32_t number, Draw& draw) {
    return in_gre(0x6558, be32(number), inner, draw);
}

Bytes labels(Draw& draw) {
    const std::size_t count = 1 + draw() % 3;
    Bytes out;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint8_t bottom = i + 1 == count ? 1 : 0;
        out = out + some(2, draw) + Bytes{static_cast<std::uint8_t>((draw() & 0xFE) | bottom), 64};
    }
    return out;
}

Bytes gre_mpls(const Bytes& inner, std::uint32_t /*number*/, Draw& draw) {
    return in_gre(coin(draw) ? 0x8847 : 0x8848, {}, labels(draw) + inner, draw);
}

Bytes ppp(const Bytes& inner, bool framed, bool compressed) {
    const std::uint8_t protocol = version_of(inner) == 4 ? 0x21 : 0x57;
    return (framed ? Bytes{0xFF, 0x03} : Bytes{}) + (compressed ? Bytes{} : Bytes{0}) +
           Bytes{protocol} + inner;
}

Bytes pptp(const Bytes& inner, std::uint32_t number, Draw& draw) {
    const bool framed = coin(draw);
    const Bytes payload = ppp(inner, framed, coin(draw));
    const bool acknowledged = coin(draw);
    return in_ip(47,
                 be16(0x3001U | (acknowledged ? 0x80U : 0)) + be16(0x880B) +
                     be16(static_cast<std::uint32_t>(payload.size())) + be16(number) +
                     some(acknowledged ? 8 : 4, draw) + payload,
                 draw);
}

Bytes erspan_1(const Bytes& inner, std::uint32_t /*number*/, Draw& draw) {
    return in_ip(47, be16(0) + be16(0x88BE) + inner, draw);
}

Bytes erspan_2(const Bytes& inner, std::uint32_t /*number*/, Draw& draw) {
    return in_ip(47,
                 be16(0x1000) + be16(0x88BE) + some(4, draw) + Bytes{0x10} + some(7, draw) + inner,
                 draw);
}

// Hardware ID, direction and granularity are random.
Bytes erspan_3(std::uint32_t frame_type, const Bytes& inner, Draw& draw) {
    const std::uint32_t platform = coin(draw) ? 1 : 0;
    const auto other = static_cast<std::uint32_t>(draw() & 0x83FE);
    return in_ip(47,
                 be16(0x1000) + be16(0x22EB) + some(4, draw) + Bytes{0x20} + some(9, draw) +
                     be16(other | frame_type << 10 | platform) + some(platform != 0 ? 8 : 0, draw) +
                     inner,
                 draw);
}

Bytes erspan_3_ethernet(const Bytes& inner, std::uint32_t /*number*/, Draw& draw) {
    return erspan_3(0, inner, draw);
}

Bytes erspan_3_ip(const Bytes& inner, std::uint32_t /*number*/, Draw& draw) {
    return erspan_3(2, inner, draw);
}

Bytes gtp_u(const Bytes& inner, std::uint32_t number, Draw& draw) {
    const std::size_t extensions = draw() % 3;
    const auto flags = static_cast<std::uint8_t>((extensions != 0 ? 4 : 0) | (draw() & 3));
    Bytes more;
    if (flags != 0) {
        more = some(3, draw) + Bytes{static_cast<std::uint8_t>(extensions != 0 ? 0x85 : 0)};
    }
    for (std::size_t i = 0; i < extensions; ++i) {
        const std::size_t words = 1 + draw() % 3;
        more = more + Bytes{static_cast<std::uint8_t>(words)} + some(words * 4 - 2, draw) +
               Bytes{static_cast<std::uint8_t>(i + 1 < extensions ? 0xC0 : 0)};
    }
    return in_udp(2152,
                  Bytes{static_cast<std::uint8_t>(0x30 | flags), 255} +
                      be16(static_cast<std::uint32_t>(more.size() + inner.size())) + be32(number) +
                      more + inner,
                  draw);
}

Bytes ip_in_ip(const Bytes& inner, std::uint32_t /*number*/, Draw& draw) {
    return in_ip(version_of(inner) == 4 ? 4 : 41, inner, draw);
}

// Wrap with an authentication header of 24 bytes before the inner packet.
Bytes ip_behind_ah(const Bytes& inner, std::uint32_t /*number*/, Draw& draw) {
    return in_ip(51,
                 Bytes{static_cast<std::uint8_t>(version_of(inner) == 4 ? 4 : 41), 4, 0, 0} +
                     some(20, draw) + inner,
                 draw);
}

Bytes mpls(const Bytes& inner, std::uint32_t /*number*/, Draw& draw) {
    return coin(draw) ? in_ip(137, labels(draw) + inner, draw)
                      : in_udp(6635, labels(draw) + inner, draw);
}

Bytes l2tp_v2(const Bytes& inner, std::uint32_t number, Draw& draw) {
    const bool length = coin(draw);
    const bool sequence = coin(draw);
    const bool offset = coin(draw);
    const std::size_t pad = draw() % 5;
    const bool framed = coin(draw);
    const Bytes payload = ppp(inner, framed, coin(draw));
    const Bytes rest =
        be32(number) + some(sequence ? 4 : 0, draw) +
        (offset ? be16(static_cast<std::uint32_t>(pad)) + some(pad, draw) : Bytes{}) + payload;
    const std::uint32_t flags =
        2U | (length ? 0x4000U : 0) | (sequence ? 0x0800U : 0) | (offset ? 0x0200U : 0);
    const Bytes all =
        be16(flags) + (length ? be16(static_cast<std::uint32_t>(4 + rest.size())) : Bytes{}) + rest;
    return coin(draw) ? in_udp(1701, all, draw) : in_udp_from(1701, 5000, all, draw);
}

Bytes l2tp_v3(const Bytes& payload, std::uint32_t number, Draw& draw) {
    const Bytes session = be32(number == 0 ? 1 : number) + some(draw() % 3 * 4, draw) +
                          some(coin(draw) ? 4 : 0, draw) + payload;
    return coin(draw) ? in_ip(115, session, draw) : in_udp(1701, be16(3) + be16(0) + session, draw);
}

Bytes l2tp_v3_ethernet(const Bytes& inner, std::uint32_t number, Draw& draw) {
    return l2tp_v3(inner, number, draw);
}

Bytes l2tp_v3_ppp(const Bytes& inner, std::uint32_t number, Draw& draw) {
    return l2tp_v3(ppp(inner, true, false), number, draw);  // framed, the only sign of PPP
}

Bytes teredo(const Bytes& inner, std::uint32_t /*number*/, Draw& draw) {
    Bytes front;
    if (coin(draw)) {
        const std::size_t client = draw() % 4;
        const std::size_t value = draw() % 4;
        front = Bytes{0, 1, static_cast<std::uint8_t>(client), static_cast<std::uint8_t>(value)} +
                some(client + value + 9, draw);
    }
    if (coin(draw)) {
        front = front + be16(0) + some(6, draw);
    }
    return coin(draw) ? in_udp(3544, front + inner, draw)
                      : in_udp_from(3544, 40000, front + inner, draw);
}

Bytes macs(Draw& draw) {
    Bytes out = some(12, draw);
    out[0] &= 0xFE;
    return out;
}

Bytes tags(Draw& draw) {
    constexpr std::array<std::uint16_t, 4> kTypes{0x8100, 0x88A8, 0x9100, 0x9200};
    Bytes out;
    for (std::uint64_t n = draw() % 3; n != 0; --n) {
        out = out + be16(kTypes[draw() % 4]) + some(2, draw);
    }
    return out;
}

Bytes jmirror(const Bytes& inner, std::uint32_t number, Draw& draw) {
    return in_udp(
        30030, be32(number) + some(4, draw) + (coin(draw) ? inner : ppp(inner, true, false)), draw);
}

Bytes etherip(const Bytes& inner, std::uint32_t /*number*/, Draw& draw) {
    return in_ip(97, Bytes{0x30, 0} + inner, draw);
}

Bytes tzsp(const Bytes& inner, std::uint32_t /*number*/, Draw& draw) {
    Bytes fields;
    for (std::uint64_t n = draw() % 3; n != 0; --n) {
        const std::size_t size = draw() % 5;
        fields =
            fields +
            (coin(draw) ? Bytes{0} : Bytes{10, static_cast<std::uint8_t>(size)} + some(size, draw));
    }
    return in_udp(37008,
                  Bytes{1, static_cast<std::uint8_t>(draw() % 2), 0, 1} + fields + Bytes{1} + inner,
                  draw);
}

Bytes pbb(const Bytes& inner, std::uint32_t number, Draw& draw) {
    return macs(draw) + tags(draw) + be16(0x88E7) + some(1, draw) + be24(number) + inner;
}

// Wrap with a control word, or without one if the first nibble of the frame is not an IP version.
Bytes pseudowire(const Bytes& inner, std::uint32_t /*number*/, Draw& draw) {
    Bytes frame = inner;
    Bytes control;
    if (coin(draw)) {
        control = Bytes{0} + some(3, draw);
    } else {
        frame[0] = static_cast<std::uint8_t>(frame[0] & 0x8F);
    }
    return macs(draw) + tags(draw) + be16(0x8847) + labels(draw) + control + frame;
}

constexpr auto kWrappings = std::to_array<Wrapping>({
    {"vxlan", Encapsulation::kVxlan, true, false, true, vxlan},
    {"vxlan-gpe with Ethernet", Encapsulation::kVxlanGpe, true, false, true, vxlan_gpe_ethernet},
    {"vxlan-gpe with IP", Encapsulation::kVxlanGpe, false, false, true, vxlan_gpe_ip},
    {"geneve with Ethernet", Encapsulation::kGeneve, true, false, true, geneve_ethernet},
    {"geneve with IP", Encapsulation::kGeneve, false, false, true, geneve_ip},
    {"gre", Encapsulation::kGre, false, false, false, gre_ip},
    {"gre with a key", Encapsulation::kGre, false, false, true, gre_ip_with_key},
    {"nvgre", Encapsulation::kGre, true, false, true, nvgre},
    {"gre with mpls", Encapsulation::kGre, false, false, false, gre_mpls},
    {"pptp", Encapsulation::kGre, false, false, true, pptp},
    {"erspan I", Encapsulation::kErspan, true, false, false, erspan_1},
    {"erspan II", Encapsulation::kErspan, true, false, false, erspan_2},
    {"erspan III with Ethernet", Encapsulation::kErspan, true, false, false, erspan_3_ethernet},
    {"erspan III with IP", Encapsulation::kErspan, false, false, false, erspan_3_ip},
    {"gtp-u", Encapsulation::kGtpU, false, false, true, gtp_u},
    {"ip-in-ip", Encapsulation::kIpInIp, false, false, false, ip_in_ip},
    {"ip-in-ip behind AH", Encapsulation::kIpInIp, false, false, false, ip_behind_ah},
    {"mpls", Encapsulation::kMpls, false, false, false, mpls},
    {"mpls-pw", Encapsulation::kMplsPw, true, true, false, pseudowire},
    {"pbb", Encapsulation::kPbb, true, true, true, pbb},
    {"l2tp v2", Encapsulation::kL2tp, false, false, true, l2tp_v2},
    {"l2tp v3 with Ethernet", Encapsulation::kL2tp, true, false, true, l2tp_v3_ethernet},
    {"l2tp v3 with PPP", Encapsulation::kL2tp, false, false, true, l2tp_v3_ppp},
    {"teredo", Encapsulation::kTeredo, false, false, false, teredo},
    {"tzsp", Encapsulation::kTzsp, true, false, false, tzsp},
    {"jmirror", Encapsulation::kJmirror, false, false, false, jmirror},
    {"etherip", Encapsulation::kEtherIp, true, false, false, etherip},
});

}  // namespace

std::span<const Wrapping> wrappings() {
    return kWrappings;
}

bool takes(const Wrapping& wrapping, const Wrapped& inner) {
    if (inner.ethernet) {
        // The heuristics for L2TP and pseudowires recognise only IP packets in a frame.
        return wrapping.takes_ethernet && wrapping.encapsulation != Encapsulation::kL2tp &&
               wrapping.encapsulation != Encapsulation::kMplsPw;
    }
    return wrapping.encapsulation != Encapsulation::kTeredo || version_of(inner.bytes) == 6;
}

Wrapped wrap(const Wrapping& wrapping, const Wrapped& inner, std::uint32_t number, Draw& draw) {
    const bool frame_it = wrapping.takes_ethernet && !inner.ethernet;
    return {wrapping.around(frame_it ? on_ethernet(inner, draw) : inner.bytes, number, draw),
            wrapping.gives_ethernet};
}

Bytes on_ethernet(const Wrapped& wrapped, Draw& draw) {
    if (wrapped.ethernet) {
        return wrapped.bytes;
    }
    return macs(draw) + tags(draw) + be16(ether_type_of(wrapped.bytes)) + wrapped.bytes;
}

}  // namespace unecho::test
