// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/timers/rotation_timers.h"

#include <algorithm>

namespace unecho::appliance {
namespace {

bool holds(const std::vector<const FilterSet*>& filters, const FilterSet* filter) {
    return std::find(filters.begin(), filters.end(), filter) != filters.end();
}

}  // namespace

void RotationTimers::follow(const WorkerConfigSet& setup, bool live, Nanoseconds now) {
    std::vector<const FilterSet*> filters;
    std::vector<Timer> timers;
    for (FilterIndex place = 0; place < kMaxFilters; ++place) {
        const FilterSet* const filter = setup.filters[place].get();
        if (filter == nullptr) {
            longest_[place].store(0, std::memory_order_relaxed);
            continue;
        }
        filters.push_back(filter);
        const auto known = std::find_if(timers_.begin(), timers_.end(),
                                        [&](const Timer& timer) { return timer.filter == filter; });
        if (known != timers_.end()) {  // planted: reload-restarts-generation
            timers.push_back(*known);
            // planted: reload-restarts-turns(setup.filters[place]->shared.turns = 0;)
            timers.back().place = place;
        } else if (live && filter->plan.engine().by_generation) {
            timers.push_back(
                {filter, place,
                 RotationTimer(setup.filters[place]->shared, filter->plan.clock.length, now)});
        }
        longest_[place].store(known == timers_.end() ? 0 : known->rotation.longest(),
                              std::memory_order_relaxed);
        if (holds(filters_, filter)) {
            continue;
        }
        for (const auto& worker : filter->workers) {
            if (filter::SegmentRing* segments = worker->instance().segments()) {
                zeroer_.add(worker->shared(), worker->instance().memory(),
                            segments->geometry().segment_bytes);
            }
        }
    }
    timers_ = std::move(timers);
    filters_ = std::move(filters);
    zeroer_.keep([&](const dataplane::WorkerFilterShared& context) {
        return std::any_of(filters_.begin(), filters_.end(), [&](const FilterSet* filter) {
            return std::any_of(filter->workers.begin(), filter->workers.end(),
                               [&](const auto& worker) { return &worker->shared() == &context; });
        });
    });
}

Nanoseconds RotationTimers::due() const {
    Nanoseconds due = ~Nanoseconds{0};
    for (const Timer& timer : timers_) {
        due = std::min(due, timer.rotation.due());
    }
    return due;
}

}  // namespace unecho::appliance
