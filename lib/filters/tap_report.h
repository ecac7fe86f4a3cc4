// SPDX-License-Identifier: BSD-3-Clause
// Which of two taps saw the flows of a window: only A, only B, or both, in numbers. A ShBF_A over
// the flows, S1 those that A saw, S2 those that B saw; what is counted is what its answers say.
//
// TapFlows is one window after the other: add() for each packet, turn() where one ends. TapReport
// adds the time: windows number 0, 1, 2, ... each of the same length, from time 0 on.
//
// A flow's first packet on a tap adds it to its region. Nothing is ever taken out of the array: a
// flow of both has the bits of the region where it was first, and those of both. So nothing is
// forgotten within a window, no counters beside the bits are needed, and an answer that has kBoth
// alone is of a new flow. Numbers move only by answers that leave one reading:
//   neither A nor B, perhaps kBoth      a new flow: it joins this tap's region
//   the other tap's region alone        the flow joins both
//   the other tap's region alone, while no flow is counted there: a new flow
//   any other                           seen here before, or ambiguous: nothing changes
//
// Guarantee: only_a + only_b + both is never more than the distinct flows there were. A flow is
//   counted once at most, and further packets of it on a tap change nothing.
// Cost: a packet at most k loads; the first of a flow on a tap k stores besides. Two arrays, one
//   in use and one being cleared.
// Accuracy: a region matches by accident with chance f = fill^k. A new flow is counted with
//   probability (1 - f)^2, and taken for one of both, at the other tap's expense, with f (1 - f)^2;
//   a known flow's first packet on the other tap makes it one of both with (1 - f)^2 (the clear
//   answer of equation (16)). filters/sizing/tap_report.h has the expected numbers of a stream.
// Weakness: with more flows than planned the fill rises, and more and more of them are not counted.
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
    // What the constructor's memory must hold; line-aligned, zeroed.
    [[nodiscard]] static std::size_t bytes(const ShbfAParams& params) noexcept {
        return 2 * ShbfA::bytes(params) + kStateBytes;
    }

    // Kept: it goes on with the window of another one with the same parameters.
    TapFlows(const ShbfAParams& params, std::span<std::byte> memory,
             Contents contents = Contents::kZero) noexcept;
    [[nodiscard]] static bool is_consistent(const ShbfAParams& params,
                                            std::span<std::byte> memory) noexcept;

    void prefetch(Digest flow) const noexcept { present().prefetch(flow); }
    // A packet of this flow on tap A (kFirst) or B (kSecond).
    void add(Digest flow, SetOfTwo tap) noexcept;
    // Of the present window.
    [[nodiscard]] const TapCounts& counts() const noexcept { return kept_.counts; }

    // Clears so much of the array that the next window will begin with.
    void clear_some(std::size_t bytes) noexcept;
    [[nodiscard]] bool cleared() const noexcept { return kept_.cleared == array_bytes(); }

    // Ends the window; the answer is what was counted. The next begins with an empty array: what
    // clear_some() left of it is cleared here.
    TapCounts turn() noexcept;

    [[nodiscard]] const ShbfAParams& params() const noexcept { return arrays_[0].params(); }

  private:
    // Behind the arrays. A flow has its bits before it is counted, and is taken from one number
    // before it is added to another.
    struct State {
        unsigned in_use = 0;
        std::size_t cleared = 0;  // of the other array
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

// What can be said of the windows at a moment.
struct TapSummary {
    bool begun = false;  // there is a present window
    bool ended = false;  // and a last one
    TapWindow present;   // so far
    TapWindow last;      // that ended; of a window without packets all counts are 0
    TapCounts before;    // sum over all windows before the present one
};

class TapReport {
  public:
    // tick() clears this much.
    static constexpr std::size_t kClearStep = 4096;

    [[nodiscard]] static std::size_t bytes(const ShbfAParams& params) noexcept {
        return TapFlows::bytes(params) + kStateBytes;
    }

    // window: at least 1 ns. Kept: it goes on with the windows of another one with the same
    // parameters, by the same clock.
    TapReport(const ShbfAParams& params, Nanoseconds window, std::span<std::byte> memory,
              Contents contents = Contents::kZero) noexcept;
    [[nodiscard]] static bool is_consistent(const ShbfAParams& params,
                                            std::span<std::byte> memory) noexcept;

    void prefetch(Digest flow) const noexcept { flows_.prefetch(flow); }
    // In the present window, which must have begun.
    void add(Digest flow, SetOfTwo tap) noexcept { flows_.add(flow, tap); }

    // To the window of this time, exactly: for captures, whose times jump and never decrease. Those
    // jumped over ended without packets.
    void advance(Nanoseconds now) noexcept;

    // The same for a clock that is looked at again and again: clears at most kClearStep a call. A
    // window ends late when the clearing is not done by then; what came meanwhile is counted in
    // it, and it bears the number of the last that it reached into.
    void tick(Nanoseconds now) noexcept;

    [[nodiscard]] TapSummary summary() const noexcept;
    [[nodiscard]] Nanoseconds window() const noexcept { return window_; }
    [[nodiscard]] const ShbfAParams& params() const noexcept { return flows_.params(); }

  private:
    void enter(std::uint64_t number) noexcept;
    void end_window(std::uint64_t next) noexcept;

    // In front of the flows.
    struct State {
        WriteGuard torn;
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
    Nanoseconds end_ = 0;  // of the present window; looked at for every packet
};

}  // namespace unecho::filter
