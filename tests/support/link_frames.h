// SPDX-License-Identifier: BSD-3-Clause
// The headers that each link type puts in front of an IP packet, in every form met in practice.
#pragma once

#include <array>
#include <vector>

#include "packets/link.h"
#include "support/packet_builder.h"

namespace unecho::test {

// The link types that lead to an IP packet: all but kUnknown.
inline constexpr std::array<packet::LinkType, packet::kLinks - 1> kIpLinks = [] {
    std::array<packet::LinkType, packet::kLinks - 1> all{};
    for (unsigned i = 0; i < all.size(); ++i) {
        all[i] = static_cast<packet::LinkType>(i);
    }
    return all;
}();

// Return headers that announce an IP packet of this version; none if the link type cannot carry it.
std::vector<Bytes> link_headers(packet::LinkType link, unsigned version);

Bytes operator+(Bytes front, const Bytes& back);

}  // namespace unecho::test
