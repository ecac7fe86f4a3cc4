// SPDX-License-Identifier: BSD-3-Clause
// The packets of these tests: numbered packets of numbered flows, their copies as other taps saw
// them, and frames that have no key.
#pragma once

#include "support/packet_builder.h"

namespace unecho::test {

inline PacketSpec spec_of(unsigned flow, unsigned number) {
    PacketSpec spec;
    spec.source = 0x0A000000U + flow;
    spec.source_port = static_cast<std::uint16_t>(1024 + flow % 50'000);
    spec.id = static_cast<std::uint16_t>(2 + number % 65000);  // above 1: identified
    spec.payload = counting(24, static_cast<std::uint8_t>(number));
    return spec;
}

inline Bytes packet(unsigned flow, unsigned number = 0) {
    return build(spec_of(flow, number));
}

// Return the same packet a hop later, in another VLAN.
inline Bytes copy_of(unsigned flow, unsigned number = 0) {
    PacketSpec spec = spec_of(flow, number);
    spec.ttl -= 1;
    spec.source_mac = {0x02, 9, 9, 9, 9, 9};
    spec.tags = {{0x8100, 7}};
    return build(spec);
}

// Append a mark behind the IP packet: only a `frame` key covers it, so copies can be told apart.
inline Bytes marked(Bytes bytes, std::uint32_t mark) {
    for (unsigned shift = 0; shift < 32; shift += 8) {
        bytes.push_back(static_cast<std::uint8_t>(mark >> shift));
    }
    return bytes;
}

inline std::uint32_t mark_of(const Bytes& bytes) {
    std::uint32_t mark = 0;
    for (unsigned i = 0; i < 4; ++i) {
        mark |= std::uint32_t{bytes[bytes.size() - 4 + i]} << (8 * i);
    }
    return mark;
}

inline Bytes arp(unsigned number = 0) {
    return build_ethernet(0x0806, counting(46, static_cast<std::uint8_t>(number)));
}

// Return the same frame in other VLANs, with other padding.
inline Bytes arp_copy(unsigned number = 0) {
    Bytes body = counting(28, static_cast<std::uint8_t>(number));
    body.resize(44);
    return build_ethernet(0x88CC, body, {.tags = {{0x88A8, 3}, {0x8100, 7}}});
}

// Return the frame padded to the shortest Ethernet frame.
inline Bytes short_arp(unsigned number = 0) {
    return build_ethernet(0x88CC, counting(28, static_cast<std::uint8_t>(number)), {.pad = true});
}

// Return a packet whose IPv4 header is cut short.
inline Bytes malformed(unsigned number = 0) {
    Bytes bytes = packet(1, number);
    bytes.resize(14 + 12);
    return bytes;
}

}  // namespace unecho::test
