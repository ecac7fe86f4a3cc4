// SPDX-License-Identifier: BSD-3-Clause
// The rotation timer of one filter: publishes the turns of its generations, one word, never sooner
// than one length after the last. Late is allowed and lengthens the window; early would be a miss.
// (docs/decisions/0002-generations.md; model: tests/models/generation.pml)
#pragma once

#include <algorithm>

#include "appliance/dataplane/shared.h"
#include "base/units.h"

namespace unecho::control {

class RotationTimer {
  public:
    RotationTimer(dataplane::FilterShared& shared, Nanoseconds length, Nanoseconds now)
        : shared_(&shared), length_(length), begun_(now), due_(now + length + kMargin) {}

    // When the next generation may be published.
    [[nodiscard]] Nanoseconds due() const { return due_; }

    // Publishes if it is time. clock() is read again after publishing: the spacing counts from when
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

    // The longest generation so far, from just before its word was published until just after the
    // next one was: what a stalled timer adds to window and slack shows here, wherever it stalled.
    [[nodiscard]] Nanoseconds longest() const { return longest_; }

  private:
    // Covers the reordering of a worker's clock and word reads, some tens of nanoseconds.
    static constexpr Nanoseconds kMargin = 1 * kMicrosecond;

    dataplane::FilterShared* shared_;
    Nanoseconds length_;
    Nanoseconds begun_;  // just before the present generation was visible
    Nanoseconds due_;
    Nanoseconds longest_ = 0;
};

}  // namespace unecho::control
