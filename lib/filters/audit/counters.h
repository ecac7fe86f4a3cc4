// SPDX-License-Identifier: BSD-3-Clause
// The results of an audit (audit.h). Each packet of the sample is in one counter up to not_held.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/counters.h"
#include "base/units.h"

namespace unecho::filter {

struct AuditCounters {
    std::uint64_t fresh = 0;
    std::uint64_t doubts_of_new = 0;
    std::uint64_t false_drops = 0;
    std::uint64_t echoes = 0;
    std::uint64_t doubts_of_echoes = 0;
    std::uint64_t misses = 0;
    std::uint64_t misses_stall = 0;
    std::uint64_t misses_arena_full = 0;
    std::uint64_t misses_evicted = 0;
    std::uint64_t misses_load = 0;
    std::uint64_t slack_echoes = 0;
    std::uint64_t slack_new = 0;
    std::uint64_t slack_doubts = 0;
    std::uint64_t late_echoes = 0;
    std::uint64_t overdue = 0;
    std::uint64_t unsettled = 0;
    std::uint64_t not_held = 0;
    std::uint64_t sampled = 0;
    std::uint64_t collisions = 0;
    std::uint64_t overload = 0;
    std::uint64_t discarded = 0;
    std::uint64_t cut_short = 0;
};
inline constexpr CounterRows<AuditCounters, 22> kAuditCounters{{
    {&AuditCounters::fresh, "new", CounterUnit::kPackets, CounterMerge::kSum,
     "no echo, and answered so"},
    {&AuditCounters::doubts_of_new, "doubts_of_new", CounterUnit::kPackets, CounterMerge::kSum,
     "no echo, and forwarded as a doubt"},
    {&AuditCounters::false_drops, "false_drops", CounterUnit::kPackets, CounterMerge::kSum,
     "taken for an echo though no packet with its key came within window and slack"},
    {&AuditCounters::echoes, "echoes", CounterUnit::kPackets, CounterMerge::kSum,
     "echoes inside the window, and answered so"},
    {&AuditCounters::doubts_of_echoes, "doubts_of_echoes", CounterUnit::kPackets,
     CounterMerge::kSum, "echoes inside the window, forwarded as doubts"},
    {&AuditCounters::misses, "misses", CounterUnit::kPackets, CounterMerge::kSum,
     "echoes younger than the achieved window, answered new: never, or something is broken"},
    {&AuditCounters::misses_stall, "misses_stall", CounterUnit::kPackets, CounterMerge::kSum,
     "echoes inside the configured window that were answered new after a stall of the worker"},
    {&AuditCounters::misses_arena_full, "misses_arena_full", CounterUnit::kPackets,
     CounterMerge::kSum, "the same, where the filter's arena was full"},
    {&AuditCounters::misses_evicted, "misses_evicted", CounterUnit::kPackets, CounterMerge::kSum,
     "the same, where a full table gave up live keys"},
    {&AuditCounters::misses_load, "misses_load", CounterUnit::kPackets, CounterMerge::kSum,
     "the same, where more packets than planned shortened the window"},
    {&AuditCounters::slack_echoes, "slack_echoes", CounterUnit::kPackets, CounterMerge::kSum,
     "older than the window, not than window and slack: answered echo"},
    {&AuditCounters::slack_new, "slack_new", CounterUnit::kPackets, CounterMerge::kSum,
     "the same, answered new"},
    {&AuditCounters::slack_doubts, "slack_doubts", CounterUnit::kPackets, CounterMerge::kSum,
     "the same, forwarded as a doubt"},
    {&AuditCounters::late_echoes, "late_echoes", CounterUnit::kPackets, CounterMerge::kSum,
     "echoes a little older than window and slack: a turn that came late, or an accident"},
    {&AuditCounters::overdue, "overdue", CounterUnit::kPackets, CounterMerge::kSum,
     "taken for an echo, of a packet of its key that was itself taken for one: what it should "
     "repeat is older than window and slack"},
    {&AuditCounters::unsettled, "unsettled", CounterUnit::kPackets, CounterMerge::kSum,
     "not judged: what came before is not known for long enough, after a start or a change of the "
     "sample"},
    {&AuditCounters::not_held, "not_held", CounterUnit::kPackets, CounterMerge::kSum,
     "not judged: there was no room for its key"},
    {&AuditCounters::sampled, "sampled", CounterUnit::kPackets, CounterMerge::kSum,
     "packets of the sample: the sum of all above"},
    {&AuditCounters::collisions, "collisions", CounterUnit::kPackets, CounterMerge::kSum,
     "of these, packets whose digest is that of another key"},
    {&AuditCounters::overload, "overload", CounterUnit::kPackets, CounterMerge::kSum,
     "packets, in the sample or not, that no filter saw because their worker was behind"},
    {&AuditCounters::discarded, "discarded", CounterUnit::kCount, CounterMerge::kSum,
     "keys given up because a smaller share is sampled now"},
    {&AuditCounters::cut_short, "cut_short", CounterUnit::kCount, CounterMerge::kSum,
     "keys forgotten sooner than after four windows and a second, for want of memory; never within "
     "window and slack"},
}};
static_assert(describes_every_counter(kAuditCounters));

// Packets that are not echoes, and packets that are echoes inside the configured window.
[[nodiscard]] constexpr std::uint64_t new_packets(const AuditCounters& c) noexcept {
    return c.fresh + c.doubts_of_new + c.false_drops;
}
[[nodiscard]] constexpr std::uint64_t explained_misses(const AuditCounters& c) noexcept {
    return c.misses_stall + c.misses_arena_full + c.misses_evicted + c.misses_load;
}
[[nodiscard]] constexpr std::uint64_t echo_packets(const AuditCounters& c) noexcept {
    return c.echoes + c.doubts_of_echoes + c.misses + explained_misses(c);
}
// Return the sum that counts each packet of the sample once.
[[nodiscard]] constexpr std::uint64_t accounted(const AuditCounters& c) noexcept {
    return new_packets(c) + echo_packets(c) + c.slack_echoes + c.slack_new + c.slack_doubts +
           c.late_echoes + c.overdue + c.unsettled + c.not_held;
}

// Ages by their logarithm: four buckets to a power of two. The last holds all from 8 hours on.
class AgeHistogram {
  public:
    static constexpr unsigned kPerOctave = 4;
    static constexpr unsigned kBuckets = 44 * kPerOctave;

    void add(Nanoseconds age) noexcept { ++counts_[bucket_of(age)]; }
    void add(const AgeHistogram& other) noexcept {
        for (unsigned i = 0; i < kBuckets; ++i) {
            counts_[i] += other.counts_[i];
        }
    }
    [[nodiscard]] std::uint64_t at(unsigned bucket) const noexcept { return counts_[bucket]; }

    // Ages in [begin_of(i), begin_of(i + 1)) are in bucket i.
    [[nodiscard]] static constexpr unsigned bucket_of(Nanoseconds age) noexcept {
        if (age < kPerOctave) {
            return static_cast<unsigned>(age);
        }
        const auto octave = static_cast<unsigned>(std::bit_width(age)) - 1;  // 2 or more
        const auto part = static_cast<unsigned>(age >> (octave - 2) & (kPerOctave - 1));
        const unsigned bucket = (octave - 1) * kPerOctave + part;
        return bucket < kBuckets ? bucket : kBuckets - 1;
    }
    [[nodiscard]] static constexpr Nanoseconds begin_of(unsigned bucket) noexcept {
        if (bucket < kPerOctave) {
            return bucket;
        }
        const unsigned octave = bucket / kPerOctave + 1;
        return (Nanoseconds{kPerOctave} + bucket % kPerOctave) << (octave - 2);
    }

  private:
    std::array<std::uint64_t, kBuckets> counts_{};
};

}  // namespace unecho::filter
