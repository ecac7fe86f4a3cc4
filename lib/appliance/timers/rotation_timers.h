// SPDX-License-Identifier: BSD-3-Clause
// The control thread's periodic work for all filters: it publishes the turns of their generations
// and zeroes their retired segments, also across reloads.
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

namespace unecho::appliance {

class RotationTimers {
  public:
    // Serve the filters of this setup from now on. Timers of known filters continue. Call before a
    // worker gets new filters, and when no worker uses removed ones any more. live: false with
    // clock = "capture", where filters advance by the packets' timestamps.
    void follow(const WorkerConfigSet& setup, bool live, Nanoseconds now);

    template <typename Clock>
    void tick(Clock&& clock) {
        for (Timer& timer : timers_) {
            if (timer.rotation.tick(clock)) {
                longest_[timer.place].store(timer.rotation.longest(), std::memory_order_relaxed);
            }
        }
    }
    [[nodiscard]] Nanoseconds due() const;

    // Zero one piece of a segment. Return true if there may be more to do.
    bool zero() { return zeroer_.step(); }
    [[nodiscard]] std::uint64_t early_turns() const { return zeroer_.early_turns(); }

    // Return the longest generation of the filter at this index, from any thread.
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

}  // namespace unecho::appliance
