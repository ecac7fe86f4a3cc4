// SPDX-License-Identifier: BSD-3-Clause
#include "filters/window/segmented/btbf.h"

#include <memory>

#include "filters/in_order.h"

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

TimedBtbf::TimedBtbf(const TimedBtbfParams& params, std::span<std::byte> memory,
                     Contents contents) noexcept
    : params_(params),
      state_(*carve<State>(memory, 0, 1)),
      keyed_(params.timers(), params.k(), memory.subspan(kStateBytes), contents) {
    if (contents == Contents::kZero) {
        std::construct_at(&state_);
        state_.visits_left = params.visits();
    } else {
        state_.load += kMaxBurst;  // insertions that may not have been counted
    }
}

bool TimedBtbf::is_consistent(const TimedBtbfParams& params, std::span<std::byte> memory) noexcept {
    const State& state = *carve<State>(memory, 0, 1);
    // planted: torn-timer-turn-accepted
    return !state.write_guard.is_interrupted() && state.visits_left <= params.visits() &&
           Timers::is_consistent(params.timers(), memory.subspan(kStateBytes));
}

void TimedBtbf::expire_all() noexcept {
    keyed_.timers().clear();
    state_.load = 0;
    state_.empty = true;
}

void TimedBtbf::clear() noexcept {
    state_.write_guard.begin();
    expire_all();
    state_.write_guard.end();
}

void TimedBtbf::turn_whole(std::uint64_t generations) noexcept {
    state_.write_guard.begin();
    turn_by(generations);
    state_.write_guard.end();
}

// Each generation ends with its share of the sweep done. If the skipped generations' shares cover
// every timer, one pass does for all. If the whole window is skipped, all is forgotten.
void TimedBtbf::turn_by(std::uint64_t generations) noexcept {
    Timers& timers = keyed_.timers();
    const std::uint64_t most = std::uint64_t{params_.l()} + 1;
    counters_.shifts += std::min(generations, most);
    state_.generation += generations;
    if (generations >= most) {
        if (!state_.empty) {
            expire_all();
        }
    } else if (generations > params_.P()) {
        const auto ahead = static_cast<unsigned>(generations);
        timers.sweep(params_.m(), ahead);
        timers.turn(ahead);
    } else {
        for (; generations > 0; --generations) {
            timers.sweep(state_.visits_left, 0);
            timers.turn(1);
            state_.visits_left = params_.visits();
        }
    }
    state_.visits_left = params_.visits();
    state_.position = 0;
    state_.load = 0;
}

}  // namespace unecho::filter
