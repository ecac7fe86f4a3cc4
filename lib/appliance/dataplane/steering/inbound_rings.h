// SPDX-License-Identifier: BSD-3-Clause
// The rings through which other workers hand packets to this one.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include <rte_ring.h>

#include "appliance/dataplane/counters.h"
#include "appliance/dataplane/steering/ring_counts.h"
#include "appliance/dataplane/worker_parameters.h"
#include "base/ids.h"
#include "base/prefetch.h"

namespace unecho::dataplane {

using Rings = std::array<rte_ring*, kMaxWorkers>;  // by the other worker's index; null: none

// Return true if each ring has room for so many packets more.
[[nodiscard]] inline bool all_have_room(const Rings& rings, unsigned packets) noexcept {
    return std::all_of(rings.begin(), rings.end(), [&](const rte_ring* ring) {
        return ring == nullptr || ring_free_count(*ring) >= packets;
    });
}

class InboundRings {
  public:
    InboundRings(const Rings& rings, unsigned burst, Counters& counters) noexcept
        : burst_(burst), counters_(counters) {
        for (rte_ring* ring : rings) {
            add(ring);
        }
    }

    // Add a ring, unless it is here already.
    void add(rte_ring* ring) noexcept {
        if (ring != nullptr &&
            std::find(rings_.begin(), rings_.begin() + count_, ring) == rings_.begin() + count_) {
            rings_[count_++] = ring;
        }
    }

    // Start fetching packets, some time before dequeue() in the same round. They are in the caches
    // of the workers that handed them over: a CPU of another L3 cache waits hundreds of nanoseconds
    // for them.
    void prefetch() noexcept {
        if (count_ != 0) {
            fetch(0);
        }
    }

    // Pass a burst from each ring to handle(entries). Call prefetch() first.
    template <typename Handle>
    PollResult dequeue(Handle handle) noexcept {
        PollResult taken;
        for (unsigned i = 0; i < count_; ++i) {
            if (i + 1 < count_) {
                fetch(i + 1);
            }
            const Fetched& fetched = fetched_[i % 2];
            counters_.handed_in += fetched.count;  // planted: steered-counted-as-bursts
            taken.add({fetched.count, fetched.count == burst_});
            handle(std::span<void* const>(fetched.entries.data(), fetched.count));
        }
        return taken;
    }

    // Pass everything that is left in the rings to handle(entry).
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
    struct Fetched {
        std::array<void*, kMaxBurst> entries;
        unsigned count = 0;
    };

    // An entry is the address of a packet buffer, possibly with marks in the bits below a cache
    // line.
    void fetch(unsigned ring) noexcept {
        Fetched& to = fetched_[ring % 2];
        to.count = rte_ring_sc_dequeue_burst(rings_[ring], to.entries.data(), burst_, nullptr);
        for (unsigned i = 0; i < to.count; ++i) {
            prefetch_line(to.entries[i]);
        }
    }

    std::array<Fetched, 2> fetched_;  // of the present ring and the next one
    Rings rings_{};                   // side by side
    unsigned count_ = 0;
    unsigned burst_;
    Counters& counters_;
};

}  // namespace unecho::dataplane
