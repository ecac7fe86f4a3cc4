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
        drop_rest(pool_[index]);
        ++taken_;
    }
    Ladder& ladder = pool_[index];
    owners_[index] = &key;
    ladder.starts = 1;
    ladder.times.fill(key.split == 0 ? key.high : last);  // what was there may be later: take_in()
    if (key.split != 0 && key.split < kWindows && last != key.high) {
        ladder.starts |= WindowMask{1} << key.split;
        ladder.times[1] = key.high;
    }
    return index;
}

void Ladders::release(AcceptedTimes& key) {
    if (key.ladder != kNoLadder) {
        drop_rest(pool_[key.ladder]);
        free_.push_back(key.ladder);
        key.ladder = kNoLadder;
    }
}

// There is room for one of each ladder.
Ladders::Rest& Ladders::rest_of(Ladder& ladder) {
    if (ladder.rest == kNoLadder && !free_rests_.empty()) {
        ladder.rest = free_rests_.back();
        free_rests_.pop_back();
    } else if (ladder.rest == kNoLadder) {
        ladder.rest = static_cast<std::uint32_t>(rests_.size());
        rests_.emplace_back();
    }
    return rests_[ladder.rest];
}

void Ladders::drop_rest(Ladder& ladder) {
    if (ladder.rest != kNoLadder) {
        free_rests_.push_back(ladder.rest);
        ladder.rest = kNoLadder;
    }
}

void Ladders::adopt(AcceptedTimes& key, Nanoseconds last, const Ladders& from) {
    if (key.ladder != kNoLadder) {
        // It may be the very one that is taken for the copy.
        const Ladder ladder = from.pool_[key.ladder];
        const bool more = ladder.rest != kNoLadder;
        const Rest rest = more ? from.rests_[ladder.rest] : Rest{};
        key.ladder = make(key, last);
        Ladder& copy = pool_[key.ladder];
        copy.starts = ladder.starts;
        copy.times = ladder.times;
        if (more) {
            rest_of(copy) = rest;
        }
    }
}

namespace {

// What becomes of windows when a packet comes.
struct Taken {
    WindowMask dropped = 0;
    WindowMask now = 0;  // whose time is that of the packet
};

// times: of `most` stretches, more than there are: any time up to now for the others. Without a
// branch, as which windows take the packet in nobody guesses.
[[gnu::always_inline]] inline Taken take_in(WindowMask starts, const Nanoseconds* times,
                                            unsigned most, Nanoseconds now) noexcept {
    Taken out;
    std::uint64_t rest = starts | std::uint64_t{1} << kWindows;
    for (unsigned i = 0; i < most; ++i) {
        const std::uint64_t begin = rest & -rest;
        rest &= rest - 1;
        const auto stretch = static_cast<WindowMask>((rest & -rest) - begin);
        const Nanoseconds age = now - times[i];
        const WindowMask keep = stretch & from(rank(age));
        out.dropped |= keep;
        out.now |= stretch & (age == 0 ? ~WindowMask{0} : ~keep);
    }
    return out;
}

// The stretches behind that: one begins where windows whose time is now meet others, and at the
// others' old beginnings.
constexpr WindowMask starts_after(WindowMask starts, WindowMask now) noexcept {
    return (now ^ now << 1U) | (starts & ~now) | 1U;
}

// Of so many of them the times.
[[gnu::always_inline]] inline void put_times(WindowMask before, WindowMask after,
                                             const Nanoseconds* times, const Taken& taken,
                                             unsigned most, Nanoseconds now,
                                             Nanoseconds* out) noexcept {
    for (unsigned i = 0; i < most; ++i) {
        const WindowMask begin = after & -after;
        const auto stretch = static_cast<unsigned>(std::popcount(before & (begin | (begin - 1))));
        after &= after - 1;
        out[i] = (taken.now & begin) != 0 ? now : times[stretch - 1];
    }
}

}  // namespace

// Of each stretch the first windows, as far as they are too short for its age, take the packet in;
// the others keep their time.
WindowMask Ladders::step_ladder(std::uint32_t index, Nanoseconds now) {
    Ladder& ladder = pool_[index];
    const WindowMask before = ladder.starts;
    if (ladder.rest != kNoLadder) [[unlikely]] {
        return step_long(ladder, now);
    }
    const Taken taken = take_in(before, ladder.times.data(), kNear, now);
    const WindowMask after = starts_after(before, taken.now);
    if (static_cast<unsigned>(std::popcount(after)) > kNear) [[unlikely]] {
        return step_long(ladder, now);
    }
    std::array<Nanoseconds, kNear> times;
    put_times(before, after, ladder.times.data(), taken, kNear, now, times.data());
    ladder.times = times;
    ladder.starts = after;
    return taken.dropped;
}

// The same where stretches lie elsewhere, before or afterwards.
WindowMask Ladders::step_long(Ladder& ladder, Nanoseconds now) {
    const WindowMask before = ladder.starts;
    const auto count = static_cast<unsigned>(std::popcount(before));
    std::array<Nanoseconds, kWindows> times;
    std::copy(ladder.times.begin(), ladder.times.end(), times.begin());
    if (count > kNear) {
        std::copy_n(rests_[ladder.rest].begin(), count - kNear, times.begin() + kNear);
    }
    const Taken taken = take_in(before, times.data(), count, now);
    const WindowMask after = starts_after(before, taken.now);
    const auto more = static_cast<unsigned>(std::popcount(after));
    std::array<Nanoseconds, kWindows> out;
    put_times(before, after, times.data(), taken, more, now, out.data());
    std::copy_n(out.begin(), std::min(more, kNear), ladder.times.begin());
    if (more > kNear) {
        std::copy_n(out.begin() + kNear, more - kNear, rest_of(ladder).begin());
    } else {
        drop_rest(ladder);
    }
    ladder.starts = after;
    return taken.dropped;
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
