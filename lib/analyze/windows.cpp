// SPDX-License-Identifier: BSD-3-Clause
#include "analyze/windows.h"

#include <algorithm>

namespace unecho::analyze {

std::uint32_t Ladders::make(AcceptedTimes& key) {
    std::uint32_t index = 0;
    if (!free_.empty()) {
        index = free_.back();
        free_.pop_back();
    } else if (pool_.size() < most_) {
        index = static_cast<std::uint32_t>(pool_.size());
        pool_.emplace_back();
    } else {
        hand_ = hand_ + 1 < pool_.size() ? hand_ + 1 : 0;
        index = static_cast<std::uint32_t>(hand_);
        const Times& times = pool_[index].times;
        AcceptedTimes& owner = *pool_[index].owner;
        const auto* end = std::find_if(times.begin(), times.end(),
                                       [&](Nanoseconds time) { return time != times.front(); });
        owner = {times.front(), times.back(), kNoLadder,
                 static_cast<std::uint8_t>(end - times.begin())};
        ++taken_;
    }
    Ladder& ladder = pool_[index];
    ladder.owner = &key;
    for (unsigned i = 0; i < kWindows; ++i) {
        ladder.times[i] = i < key.split ? key.low : key.high;
    }
    return index;
}

void Ladders::release(AcceptedTimes& key) {
    if (key.ladder != kNoLadder) {
        free_.push_back(key.ladder);
        key.ladder = kNoLadder;
    }
}

void Ladders::adopt(AcceptedTimes& key, const Ladders& from) {
    if (key.ladder != kNoLadder) {
        const Times& times = from.pool_[key.ladder].times;
        key.ladder = make(key);
        pool_[key.ladder].times = times;
    }
}

WindowMask Ladders::step_ladder(Times& times, Nanoseconds now) const noexcept {
    std::array<std::uint32_t, kWindows> dropped{};
    for (unsigned i = 0; i < kWindows; ++i) {
        const auto age = static_cast<std::int64_t>(now - times[i]);
        const bool drop = age < static_cast<std::int64_t>(kLadder[i]);
        times[i] = drop ? times[i] : now;
        dropped[i] = drop ? WindowMask{1} << i : 0;
    }
    WindowMask mask = 0;
    for (const WindowMask bit : dropped) {
        mask |= bit;
    }
    return mask;
}

// The windows fall into four stretches: those below split accept up to rank(age of low) and keep
// low above; those from split on accept up to rank(age of high) and keep high above.
WindowMask Ladders::step(AcceptedTimes& key, Nanoseconds now) {
    if (key.ladder != kNoLadder) {
        return step_ladder(pool_[key.ladder].times, now);
    }
    const unsigned split = key.split;
    const unsigned low = std::min(rank(now - key.low), split);
    const unsigned high = std::max(rank(now - key.high), split);
    const WindowMask dropped = (from(low) & ~from(split)) | from(high);
    if (low == split) {  // nobody keeps low
        key.low = now;
        key.split = static_cast<std::uint8_t>(high);
    } else if (low != 0 || high != split) {  // three times
        key.ladder = make(key);
        return step_ladder(pool_[key.ladder].times, now);
    }
    return dropped;
}

}  // namespace unecho::analyze
