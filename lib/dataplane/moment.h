// SPDX-License-Identifier: BSD-3-Clause
// The generation in force at a time: the rotation timer's word, read around the clock, so that a
// packet filed under value j at time t was there before j + 1 was published, and one that finds j
// came after j was. The timer's spacing then guarantees the whole window
// (docs/decisions/0004-generations.md).
#pragma once

#include <atomic>
#include <cstdint>

#include "base/units.h"
#include "dataplane/shared.h"
#include "filter/filter.h"

namespace unecho::dataplane {

// clock() answers in nanoseconds. It is called again when the word turned meanwhile: at most once
// for each value published.
template <typename Clock>
[[nodiscard]] inline filter::Moment read_moment(const FilterShared& shared,
                                                Clock&& clock) noexcept {
    std::uint64_t generation = shared.generation.load(std::memory_order_acquire);
    for (;;) {
        const Nanoseconds now = clock();
        const std::uint64_t again = shared.generation.load(std::memory_order_acquire);
        if (again == generation) {
            return {now, generation};
        }
        generation = again;
    }
}

}  // namespace unecho::dataplane
