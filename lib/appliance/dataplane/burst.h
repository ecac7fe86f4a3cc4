// SPDX-License-Identifier: BSD-3-Clause
// A burst of the pipeline in packet buffers (mbufs), all of one route.
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
    PortIndex port = 0;       // of all packets, unless handed_in
    bool handed_in = false;   // steered here by other workers: each mbuf names its port
    bool in_scratch = false;  // view() copied frames to scratch memory; valid until the next view()
    std::array<rte_mbuf*, kMaxBurst> mbufs;
};

// The longest frame of several mbuf segments that is read: longer than any IP packet with its tags.
inline constexpr std::uint32_t kScratchBytes = 128 * 1024;

// Set frames, lengths, too_long and bytes. A packet of one mbuf segment is not copied; one of
// several is copied to scratch. If scratch has no room left for a packet, the burst ends before it.
// Return how many packets are left behind the burst, in mbufs. A packet longer than all of scratch
// gets frame length 0 and its bit in too_long.
[[nodiscard]] unsigned view(Burst& burst, std::span<std::uint8_t> scratch) noexcept;

// Keep the packets of the mask and close the gaps between them. Call it after stage parse.
void keep_only(Burst& burst, std::uint64_t mask) noexcept;

// Split the burst into the packets of the mask and the others, each list in order. Return how many
// are in the mask.
unsigned part(const Burst& burst, std::uint64_t mask, std::array<rte_mbuf*, kMaxBurst>& some,
              std::array<rte_mbuf*, kMaxBurst>& others) noexcept;

// Make the packets that view() left behind the burst, not viewed yet.
void take_rest(Burst& burst, unsigned left) noexcept;

// Call view() and then each(burst), in as many parts as all packets take.
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
