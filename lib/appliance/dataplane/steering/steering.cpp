// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/dataplane/steering/steering.h"

#include <algorithm>
#include <bit>

#include "appliance/dataplane/steering/ring_counts.h"
#include "dedup/pipeline/bits.h"

namespace unecho::dataplane {
namespace {

using pipeline::deposit_bits;
using pipeline::first_bits;
using pipeline::for_each_bit;

// The last quarter of a ring is for packets that their owner does not filter. A quarter is at least
// half a burst, because a ring holds a burst of each worker (appliance/plan/plan.cpp). The other
// three quarters keep the owner busy with filtered packets.
constexpr unsigned kReserveShare = 4;

}  // namespace

FlowSteering::FlowSteering(const SteeringSetup& setup, const WorkerParameters& common,
                           Counters& counters) noexcept
    : setup_(setup), common_(common), in_(setup.in, common.burst, counters), counters_(counters) {
    for (unsigned other = 0; other < setup_.workers; ++other) {
        if (rte_ring* ring = setup_.out[other]) {
            free_[other] = rte_ring_get_capacity(ring);
            reserve_[other] = sheds() ? free_[other] / kReserveShare : 0;
        }
    }
}

void FlowSteering::find_owners(const Burst& burst, Owners& owners) const noexcept {
    if (setup_.card != nullptr) {
        find_owners_by_card(burst, owners);
        return;
    }
    std::array<Digest, kMaxBurst> digests;
    packet::owner_digests(burst.link, {burst.frames.data(), burst.count}, burst.parsed,
                          *common_.secret, digests.data());
    for (unsigned i = 0; i < burst.count; ++i) {
        // planted: owner-depends-on-receiver
        owners[i] = static_cast<WorkerIndex>(reduce(digests[i], setup_.workers));
    }
}

void FlowSteering::find_owners_by_card(const Burst& burst, Owners& owners) const noexcept {
    for (unsigned i = 0; i < burst.count; ++i) {
        owners[i] = has_trusted_rss_hash(*burst.mbufs[i], *setup_.card)
                        ? setup_.self
                        : owner_by_rss(*setup_.card, burst.parsed.at(i), setup_.self);
    }
}

PacketBytes FlowSteering::steer(Burst& burst, Backlog* backlog) noexcept {
    // planted: backlog-overtaken
    const bool behind = backlog != nullptr && backlog->count != 0;
    const Split split = behind ? Split{.refused = first_bits(burst.count)} : this->split(burst);
    counters_.handed_out += static_cast<unsigned>(std::popcount(split.handed));
    PacketBytes refused;
    for_each_bit(split.refused, [&](unsigned i) {
        backlog->mbufs[backlog->count++] = burst.mbufs[i];
        refused.add(1, burst.lengths[i]);
    });
    keep_only(burst, split.mine);
    return refused;
}

// Set the burst to the first entries that have one route and one mark, as a ring mixes them. Return
// true if they are marked as unfiltered.
bool FlowSteering::first_of_a_kind(std::span<void* const> entries, Burst& burst) const noexcept {
    const RingEntry first = RingEntry::of(entries.front());
    burst.count = 0;
    burst.route = first.route;
    for (void* const entry : entries) {
        const RingEntry handed = RingEntry::of(entry);
        // planted: overload-mark-ignored
        if (handed.route != burst.route || handed.unfiltered != first.unfiltered) {
            break;
        }
        if (common_.capture_clock) {
            burst.times[burst.count] = timestamp_of(handed.mbuf, common_.timestamp_offset);
        }
        burst.mbufs[burst.count++] = handed.mbuf;
    }
    return first.unfiltered;
}

FlowSteering::Split FlowSteering::split(const Burst& burst) noexcept {
    Owners owners;
    find_owners(burst, owners);
    std::array<std::uint64_t, kMaxWorkers> owned{};
    for (unsigned i = 0; i < burst.count; ++i) {
        owned[owners[i]] |= std::uint64_t{1} << i;
    }
    Split out;
    out.mine = owned[setup_.self];
    for (unsigned other = 0; other < setup_.workers; ++other) {
        if (other != setup_.self && owned[other] != 0) {
            const unsigned n = hand_over(static_cast<WorkerIndex>(other), burst, owned[other]);
            out.handed |= deposit_bits(first_bits(n), owned[other]);
        }
    }
    // planted: full-ring-forgets-packets
    out.refused = first_bits(burst.count) & ~out.mine & ~out.handed;
    return out;
}

// Hand packets over in order, those above the high-water mark unfiltered. Return how many the ring
// took.
unsigned FlowSteering::hand_over(WorkerIndex owner, const Burst& burst,
                                 std::uint64_t mask) noexcept {
    std::array<void*, kMaxBurst> entries;
    const unsigned filtered = room_below_mark(owner, static_cast<unsigned>(std::popcount(mask)));
    unsigned n = 0;
    for_each_bit(mask, [&](unsigned i) {
        if (common_.capture_clock) {
            timestamp_of(burst.mbufs[i], common_.timestamp_offset) = burst.times[i];
        }
        entries[n] = RingEntry{burst.mbufs[i], n >= filtered, burst.route}.entry();
        ++n;
    });
    return rte_ring_sp_enqueue_burst(setup_.out[owner], entries.data(), n, &free_[owner]);
}

// Return how many of n packets fit below the high-water mark. The owner writes to the ring, too; so
// its indices are read only if the free entries last seen are not enough.
unsigned FlowSteering::room_below_mark(WorkerIndex owner, unsigned n) noexcept {
    if (!sheds()) {
        return n;
    }
    if (free_[owner] < reserve_[owner] + n) {
        free_[owner] = ring_free_count(*setup_.out[owner]);
    }
    return free_[owner] > reserve_[owner] ? std::min(free_[owner] - reserve_[owner], n) : 0;
}

}  // namespace unecho::dataplane
