// SPDX-License-Identifier: BSD-3-Clause
// Which worker owns a packet, and the way there: single-producer single-consumer rings between each
// two workers.
//
// Order: all packets of a flow have one owner, go to it through one ring, and never past that ring.
// A ring that is nearly full is told to its owner by a mark on the packet: it is sent on
// unfiltered, which costs its owner little, but in its turn. What a full ring refuses stays with
// the receiver, which takes no more from that rx queue until it is gone (worker.h).
#pragma once

#include <array>
#include <cstdint>

#include <rte_ring.h>

#include "dataplane/burst.h"
#include "dataplane/rss.h"
#include "hash/secret.h"

namespace unecho::dataplane {

// What lies in such a ring. Packet buffers are aligned to cache lines, so the lowest bit is free.
struct Handed {
    rte_mbuf* mbuf;
    bool unfiltered;

    [[nodiscard]] static Handed of(void* entry) noexcept {
        const auto bits = reinterpret_cast<std::uintptr_t>(entry);
        return {reinterpret_cast<rte_mbuf*>(bits & ~std::uintptr_t{1}), (bits & 1) != 0};
    }
    [[nodiscard]] void* entry() const noexcept {
        return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(mbuf) |
                                       std::uintptr_t{unfiltered});
    }
};

struct SteeringSetup {
    bool by_ring = false;            // each packet to its owner, by its flow
    const RssModel* card = nullptr;  // those to their owner that the card may have put elsewhere
    unsigned workers = 1;
    WorkerIndex self = 0;
    bool sheds = true;  // false: rings are never too full, because nothing is received before
    std::array<rte_ring*, kMaxWorkers> out{};  // to the others; null where there is none
    const hash::Secret* secret = nullptr;
};

class Steering {
  public:
    explicit Steering(const SteeringSetup& setup) noexcept;

    [[nodiscard]] bool applies() const noexcept { return setup_.by_ring || setup_.card != nullptr; }

    // Three disjoint masks that together name every packet of a burst.
    struct Split {
        std::uint64_t mine = 0;
        std::uint64_t handed = 0;   // in their owners' rings
        std::uint64_t refused = 0;  // of full rings, the last ones of each owner
    };
    // burst went through stage view.
    Split split(const Burst& burst) noexcept;

  private:
    [[nodiscard]] WorkerIndex owner_of(const Burst& burst, unsigned i) const noexcept;
    unsigned hand_over(WorkerIndex owner, const Burst& burst, std::uint64_t mask) noexcept;
    [[nodiscard]] unsigned room_below_mark(WorkerIndex owner, unsigned n) noexcept;

    SteeringSetup setup_;
    // At least: the owner may have taken some since.
    std::array<unsigned, kMaxWorkers> free_{};
    std::array<unsigned, kMaxWorkers> reserve_{};  // free entries above the high-water mark
};

}  // namespace unecho::dataplane
