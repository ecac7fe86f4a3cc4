// SPDX-License-Identifier: BSD-3-Clause
#include "filter/window/btbf.h"

#include "filter/in_order.h"

namespace unecho::filter {
TimerReading KeyedTimers::read(Digest digest) const noexcept {
    const Positions positions(digest);
    std::array<std::uint64_t, kMaxTimerHashes> seen;
    TimerReading reading{0, 0, 0};
    for (unsigned i = 0; i < k_; ++i) {
        const std::uint64_t index = positions.at(i, timers_.size());
        if (std::find(seen.begin(), seen.begin() + reading.r, index) != seen.begin() + reading.r) {
            continue;
        }
        seen[reading.r++] = index;
        const unsigned age = timers_.age(index);
        if (age > reading.age) {
            reading.age = age;
            reading.c = 0;
        }
        reading.c += age == reading.age ? 1 : 0;
    }
    return reading;
}

std::uint64_t Btbf::test_and_insert_burst(std::span<const Digest> digests) noexcept {
    return test_in_order(*this, digests);
}

std::uint64_t TimedBtbf::test_and_insert_burst(std::span<const Digest> digests) noexcept {
    return test_in_order(*this, digests);
}

void TimedBtbf::clear() noexcept {
    keyed_.timers().clear();
    load_ = 0;
    empty_at_ = counters_.insertions;
}

// A generation ends with its share of the sweep done. Where the shares of the generations skipped
// would visit every timer, one pass does for all of them; where the window is skipped, nothing is
// left to remember.
void TimedBtbf::turn_by(std::uint64_t generations) noexcept {
    Timers& timers = keyed_.timers();
    const std::uint64_t most = std::uint64_t{params_.l()} + 1;
    counters_.shifts += std::min(generations, most);
    generation_ += generations;
    if (generations >= most) {
        if (empty_at_ != counters_.insertions) {
            clear();
        }
    } else if (generations > params_.P()) {
        const auto ahead = static_cast<unsigned>(generations);
        timers.sweep(params_.m(), ahead);
        timers.turn(ahead);
    } else {
        for (; generations > 0; --generations) {
            timers.sweep(visits_left_, 0);
            timers.turn(1);
            visits_left_ = params_.visits();
        }
    }
    visits_left_ = params_.visits();
    insertions_before_ = counters_.insertions;
    load_ = 0;
}

}  // namespace unecho::filter
