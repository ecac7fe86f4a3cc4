// SPDX-License-Identifier: BSD-3-Clause
#include "analyze/windows.h"

#include <algorithm>

namespace unecho::analyze {

std::uint32_t Ladders::make(AcceptedTimes& key, Nanoseconds last) {
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
        const Ladder& taken = pool_[index];
        const auto split = static_cast<unsigned>(std::countr_zero(taken.starts & ~WindowMask{1}));
        *owners_[index] = {last_of(index), kNoLadder, static_cast<std::uint8_t>(split)};
        ++taken_;
    }
    Ladder& ladder = pool_[index];
    owners_[index] = &key;
    ladder.starts = 1;
    ladder.times.front() = key.split == 0 ? key.high : last;
    if (key.split != 0 && key.split < kWindows && last != key.high) {
        ladder.starts |= WindowMask{1} << key.split;
        ladder.times[1] = key.high;
    }
    return index;
}

void Ladders::release(AcceptedTimes& key) {
    if (key.ladder != kNoLadder) {
        free_.push_back(key.ladder);
        key.ladder = kNoLadder;
    }
}

void Ladders::adopt(AcceptedTimes& key, Nanoseconds last, const Ladders& from) {
    if (key.ladder != kNoLadder) {
        // It may be the very one that is taken for the copy.
        const Ladder ladder = from.pool_[key.ladder];
        const bool more = static_cast<unsigned>(std::popcount(ladder.starts)) > kNear;
        const Rest rest = more ? from.rests_[key.ladder] : Rest{};
        key.ladder = make(key, last);
        pool_[key.ladder] = ladder;
        if (more) {
            rests_[key.ladder] = rest;
        }
    }
}

// Of each stretch the first windows, as far as they are too short for its age, take the packet in;
// the others keep their time.
WindowMask Ladders::step_ladder(std::uint32_t index, Nanoseconds now) noexcept {
    Ladder& ladder = pool_[index];
    std::array<Nanoseconds, kWindows + 2> times;
    std::fill_n(times.begin(), kNear, 0);
    unsigned count = 0;
    std::uint64_t starts = 0;
    WindowMask dropped = 0;
    Nanoseconds before = UINT64_MAX;
    // Without a branch, as which of them are there nobody guesses.
    const auto put = [&](bool there, unsigned begin, Nanoseconds time) {
        const bool begins = there & (time != before);
        times[count] = time;
        count += begins ? 1 : 0;
        starts |= std::uint64_t{begins} << begin;
        before = begins ? time : before;
    };
    unsigned stretch = 0;
    for (WindowMask rest = ladder.starts; rest != 0; ++stretch) {
        const auto begin = static_cast<unsigned>(std::countr_zero(rest));
        rest &= rest - 1;
        const unsigned end = rest == 0 ? kWindows : static_cast<unsigned>(std::countr_zero(rest));
        const Nanoseconds time =
            stretch < kNear ? ladder.times[stretch] : rests_[index][stretch - kNear];
        const unsigned keeps = std::clamp(rank(now - time), begin, end);
        put(keeps != begin, begin, now);
        put(keeps != end, keeps, time);
        dropped |= from(keeps) & ~from(end);
    }
    std::copy_n(times.begin(), kNear, ladder.times.begin());
    if (count > kNear) [[unlikely]] {
        std::copy(times.begin() + kNear, times.begin() + count, rests_[index].begin());
    }
    ladder.starts = static_cast<WindowMask>(starts);
    return dropped;
}

// The windows fall into four stretches: those below split accept up to rank(age of last) and keep
// last above; those from split on accept up to rank(age of high) and keep high above.
WindowMask Ladders::step(AcceptedTimes& key, Nanoseconds last, Nanoseconds now) {
    if (key.ladder != kNoLadder) {
        return step_ladder(key.ladder, now);
    }
    const unsigned split = key.split;
    const unsigned low = std::min(rank(now - last), split);
    const unsigned high = std::max(rank(now - key.high), split);
    const WindowMask dropped = (from(low) & ~from(split)) | from(high);
    if (low == split) {  // nobody keeps last
        key.split = static_cast<std::uint8_t>(high);
    } else {  // three times, or last is not that of those below split any more
        key.ladder = make(key, last);
        return step_ladder(key.ladder, now);
    }
    return dropped;
}

}  // namespace unecho::analyze
