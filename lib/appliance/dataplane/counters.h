// SPDX-License-Identifier: BSD-3-Clause
// The counters of one worker, written by that worker alone. Others read the snapshots of shared.h.
// Each packet that a worker takes ends in exactly one reason (dedup/pipeline/reasons.h).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "base/counters.h"
#include "base/ids.h"
#include "base/units.h"
#include "dedup/pipeline/reasons.h"
#include "packets/tunnels/tunnels.h"

namespace unecho::dataplane {

using pipeline::PacketBytes;

struct WorkerCounters {
    std::uint64_t handed_in = 0;
    std::uint64_t handed_out = 0;
    std::uint64_t tx_retries = 0;
    std::uint64_t bursts = 0;
    std::uint64_t full_bursts = 0;
    std::uint64_t polls = 0;
    std::uint64_t empty_polls = 0;
    Nanoseconds longest_gap = 0;
    std::uint64_t gaps = 0;
    std::uint64_t late_echoes = 0;
    Nanoseconds busy = 0;
    Nanoseconds idle = 0;
    std::uint64_t stalls = 0;
};
inline constexpr CounterRows<WorkerCounters, 13> kWorkerCounters{{
    {&WorkerCounters::handed_in, "handed_in", CounterUnit::kPackets, CounterMerge::kSum,
     "from other workers: to decide, or to transmit"},
    {&WorkerCounters::handed_out, "handed_out", CounterUnit::kPackets, CounterMerge::kSum,
     "to other workers"},
    {&WorkerCounters::tx_retries, "tx_retries", CounterUnit::kCount, CounterMerge::kSum,
     "transmit bursts that had to be tried again"},
    {&WorkerCounters::bursts, "bursts", CounterUnit::kCount, CounterMerge::kSum,
     "bursts of packets that were decided"},
    {&WorkerCounters::full_bursts, "full_bursts", CounterUnit::kCount, CounterMerge::kSum,
     "bursts that were received full: more packets waited. Most are when the worker nears its "
     "limit"},
    {&WorkerCounters::polls, "polls", CounterUnit::kCount, CounterMerge::kSum,
     "rounds of its loop"},
    {&WorkerCounters::empty_polls, "empty_polls", CounterUnit::kCount, CounterMerge::kSum,
     "rounds in which there was nothing to do"},
    {&WorkerCounters::longest_gap, "longest_gap", CounterUnit::kNanoseconds, CounterMerge::kMax,
     "the longest time between two looks at its ports: away, or in a long poll"},
    {&WorkerCounters::gaps, "gaps", CounterUnit::kCount, CounterMerge::kSum,
     "such times longer than the shortest window"},
    {&WorkerCounters::late_echoes, "late_echoes", CounterUnit::kPackets, CounterMerge::kSum,
     "echoes that may be older than window and slack, by such a time"},
    {&WorkerCounters::busy, "busy", CounterUnit::kNanoseconds, CounterMerge::kSum,
     "time of rounds that found packets, times away in them included"},
    {&WorkerCounters::idle, "idle", CounterUnit::kNanoseconds, CounterMerge::kSum,
     "time of rounds that found none, times away in them included"},
    {&WorkerCounters::stalls, "stalls", CounterUnit::kCount, CounterMerge::kSum,
     "rounds longer than [run] stall_threshold: away, or held up"},
}};
static_assert(describes_every_counter(kWorkerCounters));

// Queries of one filter to the shared flow store, and the use of its answers.
struct SharedFlowsCounters {
    std::uint64_t asked = 0;
    std::uint64_t not_asked = 0;
    std::uint64_t learned = 0;
    std::uint64_t late = 0;
};
inline constexpr CounterRows<SharedFlowsCounters, 4> kSharedFlowsCounters{{
    {&SharedFlowsCounters::asked, "asked", CounterUnit::kCount, CounterMerge::kSum,
     "flows that were not seen here in the window, for which the root was asked"},
    {&SharedFlowsCounters::not_asked, "not_asked", CounterUnit::kCount, CounterMerge::kSum,
     "such flows that it was not asked for: more came than it takes"},
    {&SharedFlowsCounters::learned, "learned", CounterUnit::kCount, CounterMerge::kSum,
     "flows known elsewhere, whose later packets are echoes here too"},
    {&SharedFlowsCounters::late, "late", CounterUnit::kPackets, CounterMerge::kSum,
     "packets of these that were forwarded before the answer came"},
}};
static_assert(describes_every_counter(kSharedFlowsCounters));

// A histogram of the length of polls, in powers of two.
struct PollTimes {
    static constexpr unsigned kBuckets = 28;
    static constexpr unsigned kFirstBits = 6;  // of the first bucket's limit: below 64 ns

    // Return the limit of a bucket: its polls took less. The last bucket has no limit; its polls
    // took 2^32 ns or longer.
    static constexpr Nanoseconds below(unsigned bucket) noexcept {
        return Nanoseconds{1} << (kFirstBits + bucket);
    }
    static constexpr unsigned bucket_of(Nanoseconds took) noexcept {
        return std::min(static_cast<unsigned>(std::bit_width(took >> kFirstBits)), kBuckets - 1);
    }
    void add(Nanoseconds took) noexcept { polls[bucket_of(took)]++; }

    std::array<std::uint64_t, kBuckets> polls{};
};

// Invariant after every poll: sum of rx + handed_in = sum of all reasons + handed_out.
struct alignas(64) Counters : WorkerCounters {
    PollTimes poll_times;                              // live only, as are busy and idle
    std::array<PacketBytes, kMaxPorts> rx{};           // taken from the port, by PortIndex
    std::array<PacketBytes, kMaxPorts> tx{};           // accepted by the port
    std::array<std::uint64_t, kMaxRoutes> received{};  // packets of rx, by route
    std::array<std::array<PacketBytes, pipeline::kReasons>, kMaxRoutes> routes{};
    std::array<packet::TunnelCounters, kMaxFilters> tunnels{};
    std::array<SharedFlowsCounters, kMaxFilters> roots{};
    std::uint64_t epochs = 0;  // epochs of captures, begun by a step back in time
    struct Epoch {
        std::uint64_t packet = 0;  // from 1, among all received
        Nanoseconds step = 0;
        PortIndex port = 0;
    } first_epoch;
};

}  // namespace unecho::dataplane
