// SPDX-License-Identifier: BSD-3-Clause
// What each link type puts in front of an IP packet, in all the forms that are met.
#pragma once

#include <vector>

#include "packet/link.h"
#include "support/packet_builder.h"

namespace unecho::test {

// Those that lead to an IP packet: all but kUnknown.
inline constexpr packet::Link kIpLinks[] = {
    packet::Link::kEthernet, packet::Link::kRaw,  packet::Link::kIpv4,       packet::Link::kIpv6,
    packet::Link::kNull,     packet::Link::kLoop, packet::Link::kPpp,        packet::Link::kSll,
    packet::Link::kSll2,     packet::Link::kWifi, packet::Link::kRadiotap,   packet::Link::kPpi,
    packet::Link::kAvs,      packet::Link::kHdlc, packet::Link::kFrameRelay, packet::Link::kNflog};

// Headers that announce an IP packet of this version; none where the link type cannot carry it.
std::vector<Bytes> link_headers(packet::Link link, unsigned version);

Bytes operator+(Bytes front, const Bytes& back);

}  // namespace unecho::test
