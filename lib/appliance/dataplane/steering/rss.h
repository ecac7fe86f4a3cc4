// SPDX-License-Identifier: BSD-3-Clause
// Receive-side scaling as a card does it, in software: for the packets that a card may have put on
// another queue than the plain copy of them. Cards read one tag, few read MPLS, none the ports of a
// fragment, and each does something of its own with options, extension headers and tunnels.
#pragma once

#include <array>
#include <cstdint>

#include <rte_mbuf.h>

#include "base/ids.h"
#include "packets/parse.h"

namespace unecho::dataplane {

// What the cards answered when they were asked how they hash (appliance/plan/rss.h), the same on
// all.
struct RssModel {
    static constexpr unsigned kKeyBytes = 40;  // of which the longest tuple, IPv6, needs all
    static constexpr unsigned kMaxEntries = 4096;

    std::array<std::uint32_t, kKeyBytes / 4> key{};  // host byte order
    std::uint64_t types = 0;                         // RTE_ETH_RSS_*
    unsigned entries = 1;
    std::array<std::uint8_t, kMaxEntries> table{};  // the worker, by hash modulo entries

    // Some key is by flow: a first fragment, which has ports, belongs to the whole packets of its
    // flow. Else fragments stay where cards put them, by their addresses.
    bool fragments_by_ports = false;
    // Frames without an IP packet have keys, too: no card hashes them, and one worker owns all.
    bool frames_have_keys = false;
};

// The card hashed this packet, and it is one that every card reads alike: its queue is that of all
// its plain copies. Looks at the first mbuf segment.
[[nodiscard]] bool has_trusted_rss_hash(const rte_mbuf& mbuf, const RssModel& model) noexcept;

// Toeplitz, over addresses and, of TCP and UDP, ports. Of an IP packet.
[[nodiscard]] std::uint32_t rss_hash(const RssModel& model, const packet::Parsed& packet) noexcept;

// Whose queue the card would have chosen for the plain copy of this frame; self if no key is made
// of it.
[[nodiscard]] WorkerIndex owner_by_rss(const RssModel& model, const packet::Parsed& packet,
                                       WorkerIndex self) noexcept;

}  // namespace unecho::dataplane
