// SPDX-License-Identifier: BSD-3-Clause
// A burst of the pipeline in packet buffers, all of one route.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <rte_mbuf.h>

#include "base/ids.h"
#include "dedup/pipeline/burst.h"

namespace unecho::dataplane {

struct Burst : pipeline::Burst {
    RouteIndex route = 0;
    PortIndex port = 0;       // that all packets came in by; or, where other workers handed them
    bool handed_in = false;   // over, the port that each of them names
    bool in_scratch = false;  // frames that view() copied: until the next burst is viewed
    std::array<rte_mbuf*, kMaxBurst> mbufs;
};

// Longest frame of several mbuf segments that is looked at: beyond any IP packet with its tags.
inline constexpr std::uint32_t kScratchBytes = 128 * 1024;

// frames, lengths, too_long, bytes: where each packet's bytes lie. Packets of one mbuf segment are
// not copied; those of several are, into scratch, one behind the other. Where the next one does not
// fit beside them the burst ends: the answer is how many packets are left behind it, in mbufs.
// Longer than all of scratch: frame length 0, and too_long.
[[nodiscard]] unsigned view(Burst& burst, std::span<std::uint8_t> scratch) noexcept;

// Closes the gaps between the packets of a mask, which are then all of the burst. Stage parse was.
void keep_only(Burst& burst, std::uint64_t mask) noexcept;

// The packets of a mask side by side, and the others: each list in order. How many are in the mask.
unsigned part(const Burst& burst, std::uint64_t mask, std::array<rte_mbuf*, kMaxBurst>& some,
              std::array<rte_mbuf*, kMaxBurst>& others) noexcept;

// The burst of the packets that view() left behind, not viewed.
void take_rest(Burst& burst, unsigned left) noexcept;

// view() and then each(burst), for all of its packets, in as many parts as that takes.
template <typename Each>
void view_in_parts(Burst& burst, std::span<std::uint8_t> scratch, Each each) noexcept {
    for (;;) {
        const unsigned left = view(burst, scratch);
        const unsigned viewed = burst.count;
        each(burst);
        if (left == 0) [[likely]] {
            return;
        }
        burst.count = viewed;
        take_rest(burst, left);
    }
}

}  // namespace unecho::dataplane
