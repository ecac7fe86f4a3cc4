// SPDX-License-Identifier: BSD-3-Clause
// The achieved window of one filter: the present time minus the time of the newest insertion that
// the filter may have forgotten. Every copy younger than this is found.
//
// May not: allocate, read a clock.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/counters.h"
#include "base/units.h"

namespace unecho::filter {

class AchievedWindow {
  public:
    // window: the configured window, and the longest that is ever reported.
    explicit constexpr AchievedWindow(Nanoseconds window) noexcept
        : window_(window), shortest_(window) {}

    // Record at time `now` that insertions up to `end` may be forgotten. No end is after now.
    constexpr void forget(Nanoseconds end, Nanoseconds now) noexcept {
        forgotten_ = true;
        end_ = std::max(end_, end);
        if (now - end_ < shortest_) {
            shortest_ = now - end_;
            shortest_at_ = now;
        }
    }

    [[nodiscard]] constexpr Nanoseconds at(Nanoseconds now) const noexcept {
        return forgotten_ ? std::min(window_, now - std::min(end_, now)) : window_;
    }
    // The shortest achieved window since the start, and when it occurred. If it was never shorter
    // than configured: the window, and time 0.
    [[nodiscard]] constexpr Nanoseconds shortest() const noexcept { return shortest_; }
    [[nodiscard]] constexpr Nanoseconds shortest_at() const noexcept { return shortest_at_; }

    // Restart the report: shorter windows from before this call no longer count.
    constexpr void begin_report() noexcept {
        shortest_ = window_;
        shortest_at_ = 0;
    }

  private:
    Nanoseconds window_;
    Nanoseconds end_ = 0;
    Nanoseconds shortest_;
    Nanoseconds shortest_at_ = 0;
    bool forgotten_ = false;
};

// The achieved window and the early and held turns of one filter on one worker, for reports.
struct WindowState {
    Nanoseconds achieved = 0;
    Nanoseconds shortest = 0;
    Nanoseconds shortest_at = 0;
    std::uint64_t early_turns = 0;
    std::uint64_t held_turns = 0;
};
// Shorten `state` to the window that another part of the filter achieves, if that is shorter.
constexpr void shorten(WindowState& state, const AchievedWindow& kept, Nanoseconds now) noexcept {
    state.achieved = std::min(state.achieved, kept.at(now));
    if (kept.shortest() < state.shortest) {
        state.shortest = kept.shortest();
        state.shortest_at = kept.shortest_at();
    }
}

inline constexpr CounterRows<WindowState, 5> kWindowCounters{{
    {&WindowState::achieved, "achieved_window", CounterUnit::kNanoseconds, CounterMerge::kMin,
     "what the filter keeps now: every copy younger than this is found"},
    {&WindowState::shortest, "shortest_window", CounterUnit::kNanoseconds, CounterMerge::kMin,
     "the least that it kept since the start"},
    {&WindowState::shortest_at, "shortest_window_at", CounterUnit::kNanoseconds,
     CounterMerge::kWithPrevious, "when that was; 0 if it was never shorter than configured"},
    {&WindowState::early_turns, "early_turns", CounterUnit::kCount, CounterMerge::kSum,
     "generations that ended by their load"},
    {&WindowState::held_turns, "held_turns", CounterUnit::kCount, CounterMerge::kSum,
     "generations that went on beyond their load, as no zeroed segment was there"},
}};
static_assert(describes_every_counter(kWindowCounters));

}  // namespace unecho::filter
