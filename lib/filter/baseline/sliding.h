// SPDX-License-Identifier: BSD-3-Clause
// What the baselines over a window have in common: test-and-insert from the two halves, bursts, and
// the count of shifts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/assert.h"
#include "filter/filter.h"
#include "hash/digest.h"

namespace unecho::filter::baseline {

template <typename Filter>
[[nodiscard]] inline bool query_then_insert(Filter& filter, Digest digest) noexcept {
    const bool echo = filter.query(digest);
    if (!echo || filter.params().policy() == EchoPolicy::kRefresh) {
        filter.insert(digest);
    }
    return echo;
}

template <typename Filter>
[[nodiscard]] inline std::uint64_t burst_in_order(Filter& filter,
                                                  std::span<const Digest> digests) noexcept {
    UNECHO_ASSERT(digests.size() <= kMaxBurst);
    for (const Digest digest : digests) {
        filter.prefetch(digest);
    }
    std::uint64_t echoes = 0;
    for (std::size_t i = 0; i < digests.size(); ++i) {
        echoes |= std::uint64_t{filter.test_and_insert(digests[i])} << i;
    }
    return echoes;
}

// The present generation. An earlier one changes nothing.
class Generation {
  public:
    // How many shifts lead there, at most `most`: after these nothing is left to shift.
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
