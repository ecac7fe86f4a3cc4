// SPDX-License-Identifier: BSD-3-Clause
// What became of every packet. One block a worker, written by that worker alone; others read the
// snapshots of shared.h. Each packet that a worker takes ends in exactly one reason.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/counters.h"
#include "base/ids.h"
#include "base/units.h"

namespace unecho::dataplane {

enum class Reason : std::uint8_t {
    kNew,
    kDoubt,
    kNonIp,
    kMalformed,
    kTooLong,
    kOverload,
    kEchoPassed,
    kEchoDiverted,
    kEcho,
    kTxLost,
    kStopped,
};

enum class Fate : std::uint8_t { kForwarded, kDiverted, kDropped };

struct ReasonInfo {
    Reason reason;
    Fate fate;
    std::string_view name;
    std::string_view where;  // the stage that counts it
    std::string_view help;
};

// Indexed by Reason.
inline constexpr auto kReasonTable = std::to_array<ReasonInfo>({
    {Reason::kNew, Fate::kForwarded, "new", "settle", "not seen within the window"},
    {Reason::kDoubt, Fate::kForwarded, "doubt", "settle",
     "a match that may be an accident: above max_false_drop"},
    {Reason::kNonIp, Fate::kForwarded, "non_ip", "settle", "no IP packet to make a key of"},
    {Reason::kMalformed, Fate::kForwarded, "malformed", "settle",
     "a header that the key needs is cut short or inconsistent"},
    {Reason::kTooLong, Fate::kForwarded, "too_long", "settle",
     "longer than the space for frames of several mbuf segments"},
    {Reason::kOverload, Fate::kForwarded, "overload", "hand over",
     "passed unfiltered: its worker's ring was nearly full"},
    {Reason::kEchoPassed, Fate::kForwarded, "echo_passed", "settle",
     "echo, forwarded because on_echo = \"pass\""},
    {Reason::kEchoDiverted, Fate::kDiverted, "echo_diverted", "settle",
     "echo, sent to the port that on_echo names"},
    {Reason::kEcho, Fate::kDropped, "echo", "settle", "echo, dropped"},
    {Reason::kTxLost, Fate::kDropped, "tx_lost", "transmit",
     "the transmit queue stayed full for the whole bounded retry"},
    {Reason::kStopped, Fate::kDropped, "stopped", "drain",
     "still between two workers when the drain timed out"},
});
inline constexpr unsigned kReasons = kReasonTable.size();

static_assert(
    [] {
        for (unsigned i = 0; i < kReasons; ++i) {
            if (kReasonTable[i].reason != static_cast<Reason>(i)) {
                return false;
            }
        }
        return kReasonTable.back().reason == Reason::kStopped;
    }(),
    "each reason has its row, in the order of the reasons");

[[nodiscard]] constexpr const ReasonInfo& info_of(Reason reason) noexcept {
    return kReasonTable[static_cast<unsigned>(reason)];
}

struct PacketBytes {
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;

    constexpr void add(std::uint64_t n, std::uint64_t size) noexcept {
        packets += n;
        bytes += size;
    }
};
inline constexpr CounterRows<PacketBytes, 2> kPacketBytes{{
    {&PacketBytes::packets, "packets", CounterUnit::kPackets, CounterFold::kSum, "packets"},
    {&PacketBytes::bytes, "bytes", CounterUnit::kBytes, CounterFold::kSum,
     "their bytes, without FCS"},
}};
static_assert(describe_each(kPacketBytes));

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
    std::array<std::array<PacketBytes, kReasons>, kMaxRoutes> routes{};
    std::uint64_t epochs = 0;  // of captures, by steps back in their time
    struct Epoch {
        std::uint64_t packet = 0;  // from 1, of all that were received
        Nanoseconds step = 0;
        PortIndex port = 0;
    } first_epoch;
};

}  // namespace unecho::dataplane
