// SPDX-License-Identifier: BSD-3-Clause
// The rings through which other workers hand packets to this one.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include <rte_ring.h>

#include "base/ids.h"
#include "dataplane/common.h"
#include "dataplane/counters.h"
#include "dataplane/ring_room.h"

namespace unecho::dataplane {

using Rings = std::array<rte_ring*, kMaxWorkers>;  // by the other worker's index; null: none

// Whether each ring has room for so many packets more.
[[nodiscard]] inline bool all_have_room(const Rings& rings, unsigned packets) noexcept {
    return std::all_of(rings.begin(), rings.end(), [&](const rte_ring* ring) {
        return ring == nullptr || ring_room(*ring) >= packets;
    });
}

class RingInlets {
  public:
    RingInlets(const Rings& rings, unsigned burst, Counters& counters) noexcept
        : burst_(burst), counters_(counters) {
        for (rte_ring* ring : rings) {
            add(ring);
        }
    }

    // One more, if it is not among them.
    void add(rte_ring* ring) noexcept {
        if (ring != nullptr &&
            std::find(rings_.begin(), rings_.begin() + count_, ring) == rings_.begin() + count_) {
            rings_[count_++] = ring;
        }
    }

    // A burst from each ring, to handle(entries).
    template <typename Handle>
    Taken take(Handle handle) noexcept {
        Taken taken;
        std::array<void*, kMaxBurst> entries;
        for (unsigned i = 0; i < count_; ++i) {
            const unsigned n =
                rte_ring_sc_dequeue_burst(rings_[i], entries.data(), burst_, nullptr);
            counters_.handed_in += n;
            taken.add({n, n == burst_});
            handle(std::span<void* const>(entries.data(), n));
        }
        return taken;
    }

    // All that is left in them, to handle(entry).
    template <typename Handle>
    void empty(Handle handle) noexcept {
        void* entry = nullptr;
        for (unsigned i = 0; i < count_; ++i) {
            while (rte_ring_sc_dequeue(rings_[i], &entry) == 0) {
                counters_.handed_in++;
                handle(entry);
            }
        }
    }

  private:
    Rings rings_{};  // those there are, side by side
    unsigned count_ = 0;
    unsigned burst_;
    Counters& counters_;
};

}  // namespace unecho::dataplane
