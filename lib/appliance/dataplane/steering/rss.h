// SPDX-License-Identifier: BSD-3-Clause
// Receive-side scaling (RSS) as a card computes it, in software. It finds the owner of packets that
// a card may have put on another queue than their plain copies: cards read one tag, few read MPLS,
// none reads the ports of a fragment, and each treats options, extension headers and tunnels in its
// own way.
#pragma once

#include <array>
#include <cstdint>

#include <rte_mbuf.h>

#include "base/ids.h"
#include "packets/parse.h"

namespace unecho::dataplane {

// How the cards hash, as they reported it (appliance/plan/rss.h); all of them alike.
struct RssModel {
    static constexpr unsigned kKeyBytes = 40;  // the longest tuple, IPv6, needs all of them
    static constexpr unsigned kMaxEntries = 4096;

    std::array<std::uint32_t, kKeyBytes / 4> key{};  // host byte order
    std::uint64_t types = 0;                         // RTE_ETH_RSS_*
    unsigned entries = 1;
    std::array<std::uint8_t, kMaxEntries> table{};  // worker, by hash modulo entries

    // Some key is the flow. A first fragment, which has ports, then belongs to the unfragmented
    // packets of its flow. Otherwise fragments stay where cards put them, by their addresses.
    bool fragments_by_ports = false;
    // Frames without an IP packet have keys, too. No card hashes them, so one worker owns them all.
    bool frames_have_keys = false;
};

// Return true if the card hashed this packet and every card reads such packets alike. All of its
// plain copies are then on the same queue. Reads the first mbuf segment only.
[[nodiscard]] bool has_trusted_rss_hash(const rte_mbuf& mbuf, const RssModel& model) noexcept;

// Return the Toeplitz hash over the addresses and, for TCP and UDP, the ports of an IP packet.
[[nodiscard]] std::uint32_t rss_hash(const RssModel& model, const packet::Parsed& packet) noexcept;

// Return the worker whose queue a card would have chosen for the plain copy of this frame, or self
// if the frame gets no key.
[[nodiscard]] WorkerIndex owner_by_rss(const RssModel& model, const packet::Parsed& packet,
                                       WorkerIndex self) noexcept;

}  // namespace unecho::dataplane
