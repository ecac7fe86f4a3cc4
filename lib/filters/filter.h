// SPDX-License-Identifier: BSD-3-Clause
// filters: sliding-window filters over digests, and what the packet path counts with them.
//
// A filter answers for each digest whether an equal one was inserted within the window, and inserts
// it if not. This header has the contract that all filters keep, as the concept SlidingFilter.
// Filters are pure: the caller brings digests, time and memory. One thread at a time. May use:
// base, hash/digest.h. May not: know DPDK or packet bytes, allocate, read a clock, do I/O, throw.
//
//   window/   sliding-window engines, and the exact tables of captures
//   kernels/  the loops of line, fingerprint and apbbf, one file an instruction set
//   repeats/  the union rule, which separates copies from retransmissions and periodic repeats
//   audit/    the exact check of a filter's answers for a sample of keys
//   hash/     keyed digests            sizing/  geometry for a rate, window and false-drop bound
//   sets/     set filters of the papers: membership, association, multiplicity, slices, growth,
//             trees, with counters so that elements can be removed
//   papers/   the structures that the papers compare with; for tests and benchmarks only
//
// window may use sets, sets may not use window, and papers uses headers of this folder only
// (tools/lint/check_house).
//
// Next: window/bucket.h (the simplest engine), window/segmented/apbf.h (the simplest that ages by
// generations), window/line.h (the default), ageing.h (when generations turn), storage.h (memory
// handed in, and kept over a restart).
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

// The position of a burst in time. Neither field decreases between two advance() calls.
struct Moment {
    Nanoseconds now = 0;           // for filters that keep times
    std::uint64_t generation = 0;  // for filters that age by shifting; see generation.h
};

enum class EchoPolicy : std::uint8_t {
    kFixed,    // an echo leaves its digest as it was: W after the first, the next copy is new again
    kRefresh,  // an echo is inserted again: a steady repeat with gaps below W stays an echo
};

enum class Answer : std::uint8_t { kNew, kEcho, kDoubt };

// Events that a filter counts itself. Its thread is the only writer.
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
    // Return true for an echo. Insert a new digest.
    { f.test_and_insert(digest) }
    noexcept->std::same_as<bool>;
    // Answer at most kMaxBurst digests: bit i belongs to digests[i]. Prefetches by itself.
    { f.test_and_insert_burst(digests) }
    noexcept->std::same_as<std::uint64_t>;
    // Move time forward. Cheap if no generation turned.
    { f.advance(moment) }
    noexcept;
    // Forget everything; keep the time.
    { f.clear() }
    noexcept;
    { cf.counters() }
    noexcept->std::convertible_to<const FilterCounters&>;
};

}  // namespace unecho::filter
