// SPDX-License-Identifier: BSD-3-Clause
// What every sliding-window filter promises, as a C++20 concept; and what is where in lib/filter.
//
//   filter/     the contracts (filter.h; confidence_filter.h and first_packets.h add to it), time
//   (generation.h,
//               ageing.h, achieved_window.h), what all filters are written with (storage.h, bits.h,
//               positions.h, in_order.h), and what the packet path counts with (tap_report.h,
//               inferential_prior.h)
//   window/     sliding windows: the engines, and the exact table of captures; with what they are
//               made of: segments, blocks, timers, the chance of an accident
//   sets/       what the papers offer for sets: membership, association, multiplicity, slices,
//               growth, trees; with counters, so that elements can leave
//   baseline/   what the papers compare with
//   kernels/    the loops of line, fingerprint and apbbf, one file an instruction set
//
// window may use sets, sets never window; baseline uses what is in filter/ alone; nothing of lib
// uses baseline (tools/check_house). Archives: `filter` is what is called per packet, of a wire and
// of captures (window, and of sets what the tap report is made of), `sets` the rest of sets; both
// are hot, and the parameters of each, which are checked once, in a cold archive beside it.
//
// Filters are pure: the caller brings digests, time and memory. No DPDK, no allocation, no clock,
// no I/O, no exception. One thread at a time.
//
// Contract, for a window of W and a slack S (both reported by sizing):
//  (a) a digest inserted less than W ago is always answered "echo";
//  (b) one inserted W + S or more ago, and never since, is answered "new" but for the filter's
//      false-positive rate;
//  (c) in between, either;
//  (d) EchoPolicy says whether an echo refreshes its digest;
//  (e) advance() may skip any number of generations at once;
//  (f) a burst gives exactly the answers of its digests one by one, in order.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/counters.h"
#include "base/ids.h"
#include "base/units.h"
#include "filters/hash/digest.h"

namespace unecho::filter {

// Where in time a burst stands. Neither field ever decreases between two advance() calls.
struct Moment {
    Nanoseconds now = 0;           // for filters that keep times
    std::uint64_t generation = 0;  // for filters that age by shifting; see generation.h
};

enum class EchoPolicy : std::uint8_t {
    kFixed,    // an echo leaves its digest as it was: W after the first, the next copy is new again
    kRefresh,  // an echo counts as an insertion: a steady repeat with gaps below W stays an echo
};

// Events that a filter counts itself; single writer, read by its owner.
struct FilterCounters {
    std::uint64_t insertions = 0;
    std::uint64_t shifts = 0;  // at most k + l for one advance()
    std::uint64_t inline_clears = 0;
    std::uint64_t evicted_early = 0;
    std::uint64_t late_visits = 0;
    std::uint64_t arena_full = 0;
};
inline constexpr CounterRows<FilterCounters, 6> kFilterCounters{{
    {&FilterCounters::insertions, "insertions", CounterUnit::kCount, CounterMerge::kSum,
     "digests written: new ones, and echoes where they refresh"},
    {&FilterCounters::shifts, "shifts", CounterUnit::kCount, CounterMerge::kSum,
     "generations turned"},
    {&FilterCounters::inline_clears, "inline_clears", CounterUnit::kCount, CounterMerge::kSum,
     "segments that a worker cleared itself, as no zeroed one was there: a stall of several "
     "generations, or offline"},
    {&FilterCounters::evicted_early, "evicted_early", CounterUnit::kCount, CounterMerge::kSum,
     "live entries given up because a table was full: each may be a miss inside the window"},
    {&FilterCounters::late_visits, "late_visits", CounterUnit::kCount, CounterMerge::kSum,
     "lines brought up to date all at once because background visits were behind: a stall, or "
     "offline"},
    {&FilterCounters::arena_full, "arena_full", CounterUnit::kCount, CounterMerge::kSum,
     "times a filter that grows got less memory than it asked for"},
}};
static_assert(describes_every_counter(kFilterCounters));

template <typename F>
concept SlidingFilter = requires(F f, const F cf, Digest digest, std::span<const Digest> digests,
                                 Moment moment) {
    // Hint: this digest will be tested soon.
    { cf.prefetch(digest) }
    noexcept;
    // True for an echo. A new digest is inserted.
    { f.test_and_insert(digest) }
    noexcept->std::same_as<bool>;
    // Bit i is the answer for digests[i]; at most kMaxBurst of them. Prefetches by itself.
    { f.test_and_insert_burst(digests) }
    noexcept->std::same_as<std::uint64_t>;
    // Moves time forward; cheap when nothing turned.
    { f.advance(moment) }
    noexcept;
    // Forgets everything; keeps the time.
    { f.clear() }
    noexcept;
    { cf.counters() }
    noexcept->std::convertible_to<const FilterCounters&>;
};

}  // namespace unecho::filter
