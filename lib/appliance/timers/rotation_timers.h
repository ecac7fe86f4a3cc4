// SPDX-License-Identifier: BSD-3-Clause
// What the control thread does for the filters of a setup, and goes on with over reloads: turns
// their generations and zeroes their segments.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "appliance/timers/rotation_timer.h"
#include "appliance/timers/segment_zeroer.h"
#include "appliance/topology/topology.h"
#include "base/ids.h"
#include "base/units.h"

namespace unecho::control {

class RotationTimers {
  public:
    // From now on for the filters of this setup: those that are known go on, new ones begin, before
    // a worker has them, and the others end, when no worker has them any more. Live: else captures
    // turn their filters themselves.
    void follow(const WorkerConfigSet& setup, bool live, Nanoseconds now);

    // Publishes the turns that are due.
    template <typename Clock>
    void tick(Clock&& clock) {
        for (Timer& timer : timers_) {
            if (timer.rotation.tick(clock)) {
                longest_[timer.place].store(timer.rotation.longest(), std::memory_order_relaxed);
            }
        }
    }
    // When the next one is.
    [[nodiscard]] Nanoseconds due() const;

    // Zeroes a piece; true if there may be more to do.
    bool zero() { return zeroer_.step(); }
    [[nodiscard]] std::uint64_t early_turns() const { return zeroer_.early_turns(); }

    // The longest generation of the filter at this place; from any thread.
    [[nodiscard]] Nanoseconds longest(FilterIndex place) const {
        return longest_[place].load(std::memory_order_relaxed);
    }

  private:
    struct Timer {
        const FilterSet* filter;
        FilterIndex place;
        RotationTimer rotation;
    };

    std::vector<const FilterSet*> filters_;
    std::vector<Timer> timers_;
    std::array<std::atomic<Nanoseconds>, kMaxFilters> longest_{};
    SegmentZeroer zeroer_;
};

}  // namespace unecho::control
