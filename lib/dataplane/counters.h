// SPDX-License-Identifier: BSD-3-Clause
// What a worker counts. One block a worker, written by that worker alone; others read the snapshots
// of shared.h. Each packet that a worker takes ends in exactly one reason (pipeline/reasons.h).
#pragma once

#include <array>
#include <cstdint>

#include "base/counters.h"
#include "base/ids.h"
#include "base/units.h"
#include "pipeline/reasons.h"

namespace unecho::dataplane {

using pipeline::PacketBytes;

// What a worker counts besides packets' reasons.
struct WorkerCounters {
    std::uint64_t handed_in = 0;
    std::uint64_t handed_out = 0;
    std::uint64_t tx_retries = 0;
    std::uint64_t bursts = 0;
    std::uint64_t polls = 0;
    std::uint64_t empty_polls = 0;
    Nanoseconds longest_gap = 0;
    std::uint64_t gaps = 0;
    std::uint64_t late_echoes = 0;
};
inline constexpr CounterRows<WorkerCounters, 9> kWorkerCounters{{
    {&WorkerCounters::handed_in, "handed_in", CounterUnit::kPackets, CounterFold::kSum,
     "from other workers: to decide, or to transmit"},
    {&WorkerCounters::handed_out, "handed_out", CounterUnit::kPackets, CounterFold::kSum,
     "to other workers"},
    {&WorkerCounters::tx_retries, "tx_retries", CounterUnit::kCount, CounterFold::kSum,
     "transmit bursts that had to be tried again"},
    {&WorkerCounters::bursts, "bursts", CounterUnit::kCount, CounterFold::kSum,
     "bursts of packets that were decided"},
    {&WorkerCounters::polls, "polls", CounterUnit::kCount, CounterFold::kSum, "rounds of its loop"},
    {&WorkerCounters::empty_polls, "empty_polls", CounterUnit::kCount, CounterFold::kSum,
     "rounds in which there was nothing to do"},
    {&WorkerCounters::longest_gap, "longest_gap", CounterUnit::kNanoseconds, CounterFold::kMost,
     "the longest time between two looks at its ports: away, or in a long poll"},
    {&WorkerCounters::gaps, "gaps", CounterUnit::kCount, CounterFold::kSum,
     "such times longer than the shortest window"},
    {&WorkerCounters::late_echoes, "late_echoes", CounterUnit::kPackets, CounterFold::kSum,
     "echoes that may be older than window and slack, by such a time"},
}};
static_assert(describe_each(kWorkerCounters));

// Invariant after every poll: sum of rx + handed_in = sum of all reasons + handed_out.
struct alignas(64) Counters : WorkerCounters {
    std::array<PacketBytes, kMaxPorts> rx{};  // taken from the port, by PortIndex
    std::array<PacketBytes, kMaxPorts> tx{};  // accepted by the port
    std::array<std::array<PacketBytes, pipeline::kReasons>, kMaxRoutes> routes{};
    std::uint64_t epochs = 0;  // of captures, by steps back in their time
    struct Epoch {
        std::uint64_t packet = 0;  // from 1, of all that were received
        Nanoseconds step = 0;
        PortIndex port = 0;
    } first_epoch;
};

}  // namespace unecho::dataplane
