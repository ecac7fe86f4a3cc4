// SPDX-License-Identifier: BSD-3-Clause
// Parts of the filters over a window: test-and-insert from its two halves, and the count of shifts.
#pragma once

#include <algorithm>
#include <cstdint>

#include "filters/filter.h"
#include "filters/hash/digest.h"
#include "filters/in_order.h"

namespace unecho::filter::baseline {

template <typename Filter>
[[nodiscard]] inline bool query_then_insert(Filter& filter, Digest digest) noexcept {
    const bool echo = filter.query(digest);
    if (!echo || filter.params().policy() == EchoPolicy::kRefresh) {
        filter.insert(digest);
    }
    return echo;
}

// The present generation. advance() to an earlier one changes nothing.
class Generation {
  public:
    // Return the number of shifts, at most `most`: after that many nothing is left to shift.
    [[nodiscard]] unsigned advance(Moment moment, unsigned most,
                                   FilterCounters& counters) noexcept {
        if (moment.generation <= generation_) [[likely]] {
            return 0;
        }
        const std::uint64_t passed = moment.generation - generation_;
        generation_ = moment.generation;
        const auto shifts = static_cast<unsigned>(std::min<std::uint64_t>(passed, most));
        counters.shifts += shifts;
        return shifts;
    }

  private:
    std::uint64_t generation_ = 0;
};

}  // namespace unecho::filter::baseline
