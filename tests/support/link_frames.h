// SPDX-License-Identifier: BSD-3-Clause
// What each link type puts in front of an IP packet, in all the forms that are met.
#pragma once

#include <array>
#include <vector>

#include "packets/link.h"
#include "support/packet_builder.h"

namespace unecho::test {

// Those that lead to an IP packet: all but kUnknown.
inline constexpr std::array<packet::LinkType, packet::kLinks - 1> kIpLinks = [] {
    std::array<packet::LinkType, packet::kLinks - 1> all{};
    for (unsigned i = 0; i < all.size(); ++i) {
        all[i] = static_cast<packet::LinkType>(i);
    }
    return all;
}();

// Headers that announce an IP packet of this version; none where the link type cannot carry it.
std::vector<Bytes> link_headers(packet::LinkType link, unsigned version);

Bytes operator+(Bytes front, const Bytes& back);

}  // namespace unecho::test
