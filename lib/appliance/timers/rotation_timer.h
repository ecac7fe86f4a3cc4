// SPDX-License-Identifier: BSD-3-Clause
// The rotation timer of one filter. It publishes the turns of its generations in one atomic word,
// never less than a generation apart: late lengthens the window, early would cause misses.
// (docs/decisions/0002-generations.md; model: tests/models/generation.pml)
#pragma once

#include <algorithm>

#include "appliance/dataplane/shared.h"
#include "base/units.h"

namespace unecho::appliance {

class RotationTimer {
  public:
    RotationTimer(dataplane::FilterShared& shared, Nanoseconds length, Nanoseconds now)
        : shared_(&shared), length_(length), begun_(now), due_(now + length + kMargin) {}

    // Return the earliest time of the next turn.
    [[nodiscard]] Nanoseconds due() const { return due_; }

    // Publish a turn if it is due. The next generation is timed from a second clock reading, when
    // the word was certainly visible.
    template <typename Clock>
    bool tick(Clock&& clock) {
        const Nanoseconds now = clock();
        if (now < due_) {
            return false;
        }
        const std::uint64_t next = shared_->turns.load(std::memory_order_relaxed) + 1;
        shared_->turns.store(next, std::memory_order_release);
        const Nanoseconds published = clock();
        longest_ = std::max(longest_, published - begun_);
        begun_ = now;
        due_ = published + length_ + kMargin;  // planted: rare-early-turn, late-turn-caught-up
        return true;
    }

    // Return the longest generation so far, from just before its turn was published until just
    // after the next one. It includes any stall of the timer, which window and slack grow by.
    [[nodiscard]] Nanoseconds longest() const { return longest_; }

  private:
    // Covers the reordering of a worker's reads of clock and word, some tens of nanoseconds.
    static constexpr Nanoseconds kMargin = 1 * kMicrosecond;

    dataplane::FilterShared* shared_;
    Nanoseconds length_;
    Nanoseconds begun_;  // just before the present generation was published
    Nanoseconds due_;
    Nanoseconds longest_ = 0;
};

}  // namespace unecho::appliance
