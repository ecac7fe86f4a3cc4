// SPDX-License-Identifier: BSD-3-Clause
// Tap report: how many flows of a window were seen by tap A only, by tap B only, or by both. A
// ShBF_A holds the flows (S1: seen by A, S2: by B); the counts follow from its answers.
//
// TapFlows is one window after the other: add() for each packet, turn() at the end of a window.
// TapReport adds the time: windows 0, 1, 2, ... of equal length, from time 0 on.
//
// The first packet of a flow on a tap adds the flow to that tap's region. Nothing is ever removed
// from the array, so a flow of both taps has the bits of its first region and those of kBoth.
// Therefore nothing is forgotten within a window, no counters are needed, and an answer of kBoth
// alone means a new flow. The counts change only on answers that have one interpretation:
//   neither A nor B, perhaps kBoth      a new flow: it joins this tap's region
//   the other tap's region alone        the flow joins both
//   the other tap's region alone, while no flow is counted there: a new flow
//   any other                           seen here before, or ambiguous: nothing changes
//
// Guarantee: only_a + only_b + both never exceeds the number of distinct flows. A flow is counted
//   at most once, and further packets of it on the same tap change nothing.
// Cost: at most k loads a packet; the first packet of a flow on a tap also k stores. Two arrays,
//   one in use and one being cleared.
// Accuracy: a region matches accidentally with chance f = fill^k. A new flow is counted with
//   probability (1 - f)^2. With f (1 - f)^2 it is taken for a flow of both, and the other tap's
//   count falls by one. The first packet of a known flow on the other tap makes it a flow of both
//   with (1 - f)^2 (the clear answer of equation (16)). filters/sizing/tap_report.h has the
//   expected numbers of a stream.
// Weakness: with more flows than planned, the fill rises and fewer and fewer flows are counted.
// References: Shifting Bloom Filter, section 4.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/counters.h"
#include "base/units.h"
#include "filters/sets/shifting/shbf_a.h"
#include "filters/storage.h"

namespace unecho::filter {

struct TapCounts {
    std::uint64_t only_a = 0;
    std::uint64_t only_b = 0;
    std::uint64_t both = 0;

    [[nodiscard]] constexpr std::uint64_t flows() const noexcept { return only_a + only_b + both; }
    constexpr TapCounts& operator+=(const TapCounts& other) noexcept;
    bool operator==(const TapCounts&) const = default;
};
inline constexpr CounterRows<TapCounts, 3> kTapCounters{{
    {&TapCounts::only_a, "only_a", CounterUnit::kCount, CounterMerge::kSum,
     "flows that the first tap alone saw"},
    {&TapCounts::only_b, "only_b", CounterUnit::kCount, CounterMerge::kSum,
     "flows that the second tap alone saw"},
    {&TapCounts::both, "both", CounterUnit::kCount, CounterMerge::kSum, "flows that both saw"},
}};
static_assert(describes_every_counter(kTapCounters));

constexpr TapCounts& TapCounts::operator+=(const TapCounts& other) noexcept {
    fold(kTapCounters, other, *this);
    return *this;
}

class TapFlows {
  public:
    [[nodiscard]] static std::size_t bytes(const ShbfAParams& params) noexcept {
        return 2 * ShbfA::bytes(params) + kStateBytes;
    }

    // kRestored: resume the window that a TapFlows with equal parameters left there.
    TapFlows(const ShbfAParams& params, std::span<std::byte> memory,
             Contents contents = Contents::kZero) noexcept;
    [[nodiscard]] static bool is_consistent(const ShbfAParams& params,
                                            std::span<std::byte> memory) noexcept;

    void prefetch(Digest flow) const noexcept { present().prefetch(flow); }
    // Record a packet of this flow on tap A (kFirst) or B (kSecond).
    void add(Digest flow, SetOfTwo tap) noexcept;
    [[nodiscard]] const TapCounts& counts() const noexcept { return kept_.counts; }

    // Clear up to `bytes` bytes of the array for the next window.
    void clear_some(std::size_t bytes) noexcept;
    [[nodiscard]] bool cleared() const noexcept { return kept_.cleared == array_bytes(); }

    // End the window and return its counts. Clears whatever clear_some() left of the next array.
    TapCounts turn() noexcept;

    [[nodiscard]] const ShbfAParams& params() const noexcept { return arrays_[0].params(); }

  private:
    // Stored after the arrays. A flow's bits are set before it is counted, and one count is lowered
    // before another is raised, so that an interruption never counts a flow twice.
    struct State {
        unsigned in_use = 0;
        std::size_t cleared = 0;  // cleared bytes of the array not in use
        TapCounts counts;
    };
    static constexpr std::size_t kStateBytes = align_to_line(sizeof(State));

    [[nodiscard]] const ShbfA& present() const noexcept { return arrays_[kept_.in_use]; }
    [[nodiscard]] std::size_t array_bytes() const noexcept { return arrays_memory_.size() / 2; }

    std::span<std::byte> arrays_memory_;
    std::array<ShbfA, 2> arrays_;
    State& kept_;
};

struct TapWindow {
    std::uint64_t number = 0;
    TapCounts counts;
};

struct TapSummary {
    bool begun = false;  // there is a present window
    bool ended = false;  // there is a finished window
    TapWindow present;   // counts so far
    TapWindow last;      // last finished window; all counts are 0 if it had no packets
    TapCounts before;    // sum over all windows before the present one
};

class TapReport {
  public:
    static constexpr std::size_t kClearStep = 4096;

    [[nodiscard]] static std::size_t bytes(const ShbfAParams& params) noexcept {
        return TapFlows::bytes(params) + kStateBytes;
    }

    // window: at least 1 ns. kRestored: resume the windows of a TapReport with equal parameters and
    // clock.
    TapReport(const ShbfAParams& params, Nanoseconds window, std::span<std::byte> memory,
              Contents contents = Contents::kZero) noexcept;
    [[nodiscard]] static bool is_consistent(const ShbfAParams& params,
                                            std::span<std::byte> memory) noexcept;

    void prefetch(Digest flow) const noexcept { flows_.prefetch(flow); }
    // Record a packet in the present window, which must have begun.
    void add(Digest flow, SetOfTwo tap) noexcept { flows_.add(flow, tap); }

    // Advance to the window of this time exactly. For captures, whose times jump but never
    // decrease. Windows that were skipped ended without packets.
    void advance(Nanoseconds now) noexcept;

    // The same for a clock that is polled: clears at most kClearStep bytes a call. If the clearing
    // is not done by the end of a window, the window ends late. Packets of the delay are counted in
    // it, and it takes the number of the last window that it reached into.
    void tick(Nanoseconds now) noexcept;

    [[nodiscard]] TapSummary summary() const noexcept;
    [[nodiscard]] Nanoseconds window() const noexcept { return window_; }
    [[nodiscard]] const ShbfAParams& params() const noexcept { return flows_.params(); }

  private:
    void enter(std::uint64_t number) noexcept;
    void end_window(std::uint64_t next) noexcept;

    // Stored before the flows.
    struct State {
        WriteGuard write_guard;
        bool begun = false;
        bool ended = false;
        std::uint64_t number = 0;
        TapWindow last;
        TapCounts before;
    };
    static constexpr std::size_t kStateBytes = align_to_line(sizeof(State));

    Nanoseconds window_;
    State& kept_;
    TapFlows flows_;
    Nanoseconds end_ = 0;  // of the present window; read for every packet
};

}  // namespace unecho::filter
