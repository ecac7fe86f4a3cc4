// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/tally/windows.h"

#include <algorithm>

namespace unecho::analyze {

std::uint32_t BucketTimesPool::make(AcceptedTimes& key, Nanoseconds last) {
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
        const BucketTimes& taken = pool_[index];
        const auto split = static_cast<unsigned>(std::countr_zero(taken.starts & ~WindowMask{1}));
        AcceptedTimes& owner = *owners_[index];  // keeps what else its owner noted
        owner.high = last_of(index);
        owner.bucket_times = kNoBucketTimes;
        owner.split = static_cast<std::uint8_t>(split);
        drop_rest(pool_[index]);
        ++taken_;
    }
    BucketTimes& bucket_times = pool_[index];
    owners_[index] = &key;
    bucket_times.starts = 1;
    bucket_times.times.fill(key.split == 0 ? key.high : last);  // take_in() needs none after now
    if (key.split != 0 && key.split < kWindows && last != key.high) {
        bucket_times.starts |= WindowMask{1} << key.split;
        bucket_times.times[1] = key.high;
    }
    return index;
}

void BucketTimesPool::release(AcceptedTimes& key) {
    if (key.bucket_times != kNoBucketTimes) {
        drop_rest(pool_[key.bucket_times]);
        free_.push_back(key.bucket_times);
        key.bucket_times = kNoBucketTimes;
    }
}

// rests_ has room for one of each entry of the pool.
BucketTimesPool::OverflowTimes& BucketTimesPool::rest_of(BucketTimes& bucket_times) {
    if (bucket_times.rest == kNoBucketTimes && !free_rests_.empty()) {
        bucket_times.rest = free_rests_.back();
        free_rests_.pop_back();
    } else if (bucket_times.rest == kNoBucketTimes) {
        bucket_times.rest = static_cast<std::uint32_t>(rests_.size());
        rests_.emplace_back();
    }
    return rests_[bucket_times.rest];
}

void BucketTimesPool::drop_rest(BucketTimes& bucket_times) {
    if (bucket_times.rest != kNoBucketTimes) {
        free_rests_.push_back(bucket_times.rest);
        bucket_times.rest = kNoBucketTimes;
    }
}

void BucketTimesPool::adopt(AcceptedTimes& key, Nanoseconds last, const BucketTimesPool& from) {
    if (key.bucket_times != kNoBucketTimes) {
        // make() may take the very entry that is copied, so copy it first.
        const BucketTimes bucket_times = from.pool_[key.bucket_times];
        const bool more = bucket_times.rest != kNoBucketTimes;
        const OverflowTimes rest = more ? from.rests_[bucket_times.rest] : OverflowTimes{};
        key.bucket_times = make(key, last);
        BucketTimes& copy = pool_[key.bucket_times];
        copy.starts = bucket_times.starts;
        copy.times = bucket_times.times;
        if (more) {
            rest_of(copy) = rest;
        }
    }
}

namespace {

struct Taken {
    WindowMask dropped = 0;
    WindowMask now = 0;  // those whose time becomes that of the packet
};

// times: `most` entries, at least as many as there are stretches; further ones hold any time up to
// now. There are no branches, because which windows accept the packet is unpredictable.
[[gnu::always_inline]] inline Taken take_in(WindowMask starts, const Nanoseconds* times,
                                            unsigned most, Nanoseconds now) noexcept {
    Taken out;
    std::uint64_t rest = starts | std::uint64_t{1} << kWindows;
    for (unsigned i = 0; i < most; ++i) {
        const std::uint64_t begin = rest & -rest;
        rest &= rest - 1;
        const auto stretch = static_cast<WindowMask>((rest & -rest) - begin);
        const Nanoseconds age = now - times[i];
        const WindowMask keep = stretch & from(windows_up_to(age));
        out.dropped |= keep;
        out.now |= stretch & (age == 0 ? ~WindowMask{0} : ~keep);
    }
    return out;
}

// Return the stretches afterwards. One begins where windows whose time is now meet others, and at
// the old beginnings of the others.
constexpr WindowMask starts_after(WindowMask starts, WindowMask now) noexcept {
    return (now ^ now << 1U) | (starts & ~now) | 1U;
}

// Write the times of the first `most` stretches.
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

// In each stretch, the windows that are too short for its age accept the packet; the others keep
// their time.
WindowMask BucketTimesPool::step_bucket_times(std::uint32_t index, Nanoseconds now) {
    BucketTimes& bucket_times = pool_[index];
    const WindowMask before = bucket_times.starts;
    if (bucket_times.rest != kNoBucketTimes) [[unlikely]] {
        return step_long(bucket_times, now);
    }
    const Taken taken = take_in(before, bucket_times.times.data(), kInlineTimes, now);
    const WindowMask after = starts_after(before, taken.now);
    if (static_cast<unsigned>(std::popcount(after)) > kInlineTimes) [[unlikely]] {
        return step_long(bucket_times, now);
    }
    std::array<Nanoseconds, kInlineTimes> times;
    put_times(before, after, bucket_times.times.data(), taken, kInlineTimes, now, times.data());
    bucket_times.times = times;
    bucket_times.starts = after;
    return taken.dropped;
}

// The same, if some times are in OverflowTimes, before or afterwards.
WindowMask BucketTimesPool::step_long(BucketTimes& bucket_times, Nanoseconds now) {
    const WindowMask before = bucket_times.starts;
    const auto count = static_cast<unsigned>(std::popcount(before));
    std::array<Nanoseconds, kWindows> times;
    std::copy(bucket_times.times.begin(), bucket_times.times.end(), times.begin());
    if (count > kInlineTimes) {
        std::copy_n(rests_[bucket_times.rest].begin(), count - kInlineTimes,
                    times.begin() + kInlineTimes);
    }
    const Taken taken = take_in(before, times.data(), count, now);
    const WindowMask after = starts_after(before, taken.now);
    const auto more = static_cast<unsigned>(std::popcount(after));
    std::array<Nanoseconds, kWindows> out;
    put_times(before, after, times.data(), taken, more, now, out.data());
    std::copy_n(out.begin(), std::min(more, kInlineTimes), bucket_times.times.begin());
    if (more > kInlineTimes) {
        std::copy_n(out.begin() + kInlineTimes, more - kInlineTimes, rest_of(bucket_times).begin());
    } else {
        drop_rest(bucket_times);
    }
    bucket_times.starts = after;
    return taken.dropped;
}

// There are four stretches. Windows below `split` accept up to windows_up_to(age of last), those
// from `split` on up to windows_up_to(age of high). Above that they keep `last` and `high`.
WindowMask BucketTimesPool::step(AcceptedTimes& key, Nanoseconds last, Nanoseconds now) {
    if (key.bucket_times != kNoBucketTimes) {
        return step_bucket_times(key.bucket_times, now);
    }
    const unsigned split = key.split;
    const unsigned low = std::min(windows_up_to(now - last), split);
    const unsigned high = std::max(windows_up_to(now - key.high), split);
    const WindowMask dropped = (from(low) & ~from(split)) | from(high);
    if (low == split) {  // no window keeps last
        key.split = static_cast<std::uint8_t>(high);
    } else {  // three times, or windows below split that no longer have last
        key.bucket_times = make(key, last);
        return step_bucket_times(key.bucket_times, now);
    }
    return dropped;
}

}  // namespace unecho::analyze
