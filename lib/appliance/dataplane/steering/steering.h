// SPDX-License-Identifier: BSD-3-Clause
// Finds the worker that owns a packet, and hands the packet over: by a single-producer
// single-consumer ring between each two workers.
//
// Order: all packets of a flow have one owner, take one ring to it, and never overtake each other.
// If a ring is nearly full, the sender marks packets: their owner forwards them unfiltered, which
// costs little, but in order. Packets that a full ring refuses stay in the receiver's backlog,
// which takes no more from that rx queue until the backlog is empty (receive.h).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <rte_ethdev.h>
#include <rte_ring.h>

#include "appliance/dataplane/burst.h"
#include "appliance/dataplane/counters.h"
#include "appliance/dataplane/receive.h"
#include "appliance/dataplane/steering/inbound_rings.h"
#include "appliance/dataplane/steering/rss.h"
#include "appliance/dataplane/worker_parameters.h"
#include "base/prefetch.h"

namespace unecho::dataplane {

// An entry of such a ring. Packet buffers are aligned to cache lines, so the lowest six bits are
// free: the receiver stores its mark and the route there.
struct RingEntry {
    rte_mbuf* mbuf;
    bool unfiltered;
    RouteIndex route;

    static constexpr unsigned kFreeBits = 6;
    static_assert(kMaxRoutes <= 1U << (kFreeBits - 1) && RTE_CACHE_LINE_SIZE >= 1U << kFreeBits);

    [[nodiscard]] static RingEntry of(void* entry) noexcept {
        const auto bits = reinterpret_cast<std::uintptr_t>(entry);
        constexpr std::uintptr_t kFree = (std::uintptr_t{1} << kFreeBits) - 1;
        return {reinterpret_cast<rte_mbuf*>(bits & ~kFree), (bits & 1) != 0,
                static_cast<RouteIndex>((bits & kFree) >> 1)};
    }
    [[nodiscard]] void* entry() const noexcept {
        return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(mbuf) |
                                       std::uintptr_t{unfiltered} | std::uintptr_t{route} << 1);
    }
};

struct SteeringSetup {
    bool by_ring = false;            // each packet to its owner, by its flow
    const RssModel* card = nullptr;  // only packets that the card may have put elsewhere
    unsigned workers = 1;
    WorkerIndex self = 0;
    Rings out{};  // to the others
    Rings in{};   // from them
};

class FlowSteering {
  public:
    FlowSteering(const SteeringSetup& setup, const WorkerParameters& common,
                 Counters& counters) noexcept;

    // Apply how owners are found; rings do not change.
    void apply_config(const SteeringSetup& setup) noexcept {
        setup_.by_ring = setup.by_ring;
        setup_.card = setup.card;
    }

    [[nodiscard]] bool applies() const noexcept { return setup_.by_ring || setup_.card != nullptr; }

    // Keep this worker's packets in the burst, hand the others to their owners, and add those that
    // full rings refused to the backlog. Return the sum of the refused ones. If the backlog is not
    // empty (from an earlier part of the burst), all packets join it, so that none overtakes.
    // backlog may be null if no ring is ever full. Call it after the stages view and parse.
    PacketBytes steer(Burst& burst, Backlog* backlog) noexcept;

    void prefetch() noexcept { in_.prefetch(); }

    // Pass a burst from each ring to handle(burst, unfiltered), split into bursts of one route and
    // kind, which are not viewed yet. room() returns the memory for each.
    template <typename Room, typename Handle>
    PollResult dequeue(Room room, Handle handle) noexcept {
        return in_.dequeue([&](std::span<void* const> entries) {
            for (void* const entry : entries) {
                prefetch_line(rte_pktmbuf_mtod(RingEntry::of(entry).mbuf, const void*));
            }
            while (!entries.empty()) {
                Burst& burst = room();
                const bool unfiltered = first_of_a_kind(entries, burst);
                entries = entries.subspan(burst.count);
                handle(burst, unfiltered);
            }
        });
    }

    // Return true if each ring to another worker has room for so many packets.
    [[nodiscard]] bool has_room(unsigned packets) const noexcept {
        return all_have_room(setup_.out, packets);
    }

    // Pass everything that is left in the rings to handle(mbuf, route).
    template <typename Handle>
    void empty(Handle handle) noexcept {
        in_.empty([&](void* entry) {
            const RingEntry handed = RingEntry::of(entry);
            handle(handed.mbuf, handed.route);
        });
    }

  private:
    // Three disjoint masks that together name every packet of a burst.
    struct Split {
        std::uint64_t mine = 0;
        std::uint64_t handed = 0;   // to their owners' rings
        std::uint64_t refused = 0;  // by full rings: the last packets of each owner
    };
    Split split(const Burst& burst) noexcept;
    // False for captures, which are not received while a ring may become too full.
    [[nodiscard]] bool sheds() const noexcept { return !common_.capture_clock; }
    bool first_of_a_kind(std::span<void* const> entries, Burst& burst) const noexcept;
    using Owners = std::array<WorkerIndex, kMaxBurst>;
    void find_owners(const Burst& burst, Owners& owners) const noexcept;
    void find_owners_by_card(const Burst& burst, Owners& owners) const noexcept;
    unsigned hand_over(WorkerIndex owner, const Burst& burst, std::uint64_t mask) noexcept;
    [[nodiscard]] unsigned room_below_mark(WorkerIndex owner, unsigned n) noexcept;

    SteeringSetup setup_;
    const WorkerParameters& common_;
    InboundRings in_;
    Counters& counters_;
    // Lower bounds: the owner may have taken some since.
    std::array<unsigned, kMaxWorkers> free_{};
    std::array<unsigned, kMaxWorkers> reserve_{};  // free entries above the high-water mark
};

}  // namespace unecho::dataplane
