// SPDX-License-Identifier: BSD-3-Clause
// Every window at once: a ladder of 32 windows from 100 ns to 1000 s in steps 1-2-5, the last one
// without end, and what policy fixed does with a key under each of them, in one pass and exactly.
//
// Policy fixed remembers the last accepted packet of a key, which differs from window to window. Of
// a key that was seen a few times these times are mostly two, split at one window; only a key for
// which that is not enough gets a time for each window.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/os/mapped_memory.h"
#include "base/prefetch.h"
#include "base/units.h"
#include "captures/analyze/report/report.h"

namespace unecho::analyze {

inline constexpr unsigned kWindows = 32;
inline constexpr Nanoseconds kNoWindowEnd = INT64_MAX;  // larger than any age

namespace detail {
constexpr std::array<Nanoseconds, kWindows> window_buckets() noexcept {
    std::array<Nanoseconds, kWindows> out{};
    Nanoseconds decade = 100;
    for (unsigned i = 0; i + 1 < kWindows; ++i) {
        constexpr std::array<Nanoseconds, 3> kSteps{1, 2, 5};
        out[i] = decade * kSteps[i % 3];
        decade *= i % 3 == 2 ? 10 : 1;
    }
    out[kWindows - 1] = kNoWindowEnd;
    return out;
}
}  // namespace detail

inline constexpr std::array<Nanoseconds, kWindows> kWindowBuckets = detail::window_buckets();
static_assert(kWindowBuckets[kWindows - 2] == 1000 * kSecond);

namespace detail {
// By bit width: how many windows are too short for the least such age.
inline constexpr std::array<std::uint8_t, 64> kRankStarts = [] {
    std::array<std::uint8_t, 64> out{};
    for (unsigned width = 1; width < out.size(); ++width) {
        unsigned n = out[width - 1];
        while (kWindowBuckets[n] <= Nanoseconds{1} << (width - 1)) {
            ++n;
        }
        out[width] = static_cast<std::uint8_t>(n);
    }
    return out;
}();

// No two windows have the same bit width.
constexpr bool widths_differ() noexcept {
    for (unsigned i = 0; i + 1 < kWindows; ++i) {
        if (std::bit_width(kWindowBuckets[i]) == std::bit_width(kWindowBuckets[i + 1])) {
            return false;
        }
    }
    return true;
}
static_assert(widths_differ());
}  // namespace detail

// How many windows are too short for this age: those with a window <= age. The windows from that
// one on hold it. Ages are below kNoWindowEnd.
[[nodiscard]] constexpr unsigned windows_up_to(Nanoseconds age) noexcept {
    const unsigned n = detail::kRankStarts[static_cast<unsigned>(std::bit_width(age))];
    return n + (kWindowBuckets[n] <= age ? 1U : 0U);
}

// Bit i: with window kWindowBuckets[i].
using WindowMask = std::uint32_t;

// The windows from n on; n up to kWindows.
[[nodiscard]] constexpr WindowMask from(unsigned n) noexcept {
    return static_cast<WindowMask>(~std::uint64_t{0} << n);
}

inline constexpr std::uint32_t kNoBucketTimes = UINT32_MAX;

// The times of one key, beside that at which it was seen last, which whoever has the key keeps.
// Windows below split accepted it then, the others at high. With a ladder: those in it.
struct AcceptedTimes {
    Nanoseconds high = 0;
    std::uint32_t bucket_times = kNoBucketTimes;
    std::uint8_t split = 0;
    // Of whoever keeps the times; else these were padding. A hash of where the packet was seen
    // beside the point of the first (0: nowhere); how many looks that point is ahead of it; and how
    // many there were since it was not seen for kMaxPathDelay.
    std::uint16_t other_point : 10 = 0;
    std::int16_t lead : 3 = 1;
    std::uint16_t looks : 3 = 1;
};

// BucketTimesPool for the keys that need one. Bounded: when there are no more, that of another key
// is taken, which is then known by two times only, and counted.
class BucketTimesPool {
  public:
    explicit BucketTimesPool(std::size_t most) : most_(most) {
        pool_.reserve(most);  // addresses only, as long as they are not used
        rests_.reserve(most);
        owners_ = std::make_unique_for_overwrite<AcceptedTimes*[]>(most);
        // A large page is cleared whole: a few ladders need none.
        constexpr std::size_t kInSmallPages = std::size_t{1} << 14;
        const std::size_t few = std::min(most, kInSmallPages);
        advise_huge_pages(pool_.data() + few, (most - few) * sizeof(BucketTimes));
    }

    // A key that was seen for the first time.
    [[nodiscard]] static AcceptedTimes first(Nanoseconds now) noexcept {
        return {now, kNoBucketTimes, 0};
    }

    // The key is seen again, which was seen at last before: the windows with which it is dropped.
    // Times never step back. The key must stay where it is until it is released.
    WindowMask step(AcceptedTimes& key, Nanoseconds last, Nanoseconds now);

    void release(AcceptedTimes& key);

    // The key is a copy of one that has its times in another's ladder, if any. from: may be this.
    void adopt(AcceptedTimes& key, Nanoseconds last, const BucketTimesPool& from);

    // When a key was seen first, as long as it has its ladder.
    [[nodiscard]] Nanoseconds first_of(const AcceptedTimes& key) const noexcept {
        return key.bucket_times == kNoBucketTimes ? key.high : last_of(key.bucket_times);
    }

    void prefetch(const AcceptedTimes& key) const noexcept {
        if (key.bucket_times != kNoBucketTimes) {
            prefetch_line(&pool_[key.bucket_times]);
        }
    }

    // How often a ladder was taken away: as many keys' counts may be off.
    [[nodiscard]] std::uint64_t taken() const noexcept { return taken_; }

    [[nodiscard]] std::size_t bytes() const noexcept { return pool_.size() * kBytes; }

    static constexpr std::size_t kBytes = 64 * 5;  // of one ladder, about

  private:
    // Windows next to each other that have the same time are a stretch, and it is there once. As
    // many as most keys have fit a cache line; what is beyond lies elsewhere.
    static constexpr unsigned kInlineTimes = 7;
    struct alignas(64) BucketTimes {
        WindowMask starts = 0;  // bit i: a stretch begins with window i; the first is 0
        std::uint32_t rest = kNoBucketTimes;  // where its other times lie, if it has more
        std::array<Nanoseconds, kInlineTimes>
            times{};  // of the stretches; behind these any passed ones
    };
    static_assert(sizeof(BucketTimes) == 64);
    using OverflowTimes = std::array<Nanoseconds, kWindows - kInlineTimes>;
    static_assert(sizeof(BucketTimes) + sizeof(OverflowTimes) + sizeof(AcceptedTimes*) <= kBytes);

    [[nodiscard]] Nanoseconds last_of(std::uint32_t index) const noexcept {
        const auto last = static_cast<unsigned>(std::popcount(pool_[index].starts)) - 1;
        const BucketTimes& bucket_times = pool_[index];
        return last < kInlineTimes ? bucket_times.times[last]
                                   : rests_[bucket_times.rest][last - kInlineTimes];
    }
    std::uint32_t make(AcceptedTimes& key, Nanoseconds last);
    WindowMask step_ladder(std::uint32_t index, Nanoseconds now);
    WindowMask step_long(BucketTimes& bucket_times, Nanoseconds now);
    OverflowTimes& rest_of(BucketTimes& bucket_times);
    void drop_rest(BucketTimes& bucket_times);

    std::size_t most_;
    std::vector<BucketTimes> pool_;
    std::vector<OverflowTimes> rests_;  // of those that have more times
    std::vector<std::uint32_t> free_rests_;
    std::unique_ptr<AcceptedTimes*[]> owners_;  // whose it is
    std::vector<std::uint32_t> free_;
    std::size_t hand_ = 0;
    std::uint64_t taken_ = 0;
};

// Packets and bytes by window. What counts for windows next to each other is added where they
// begin and taken back where they end, so a packet costs as many steps as its mask has
// stretches: mostly one.
class WindowCounts {
  public:
    void add(WindowMask windows, std::uint64_t length) noexcept {
        unsigned at = 0;
        while (windows != 0) {
            const auto gap = static_cast<unsigned>(std::countr_zero(windows));
            const auto run = static_cast<unsigned>(std::countr_one(windows >> gap));
            at += gap;
            edges_[at].add(length);
            at += run;
            edges_[at] -= {1, length};
            windows = at < kWindows ? windows >> gap >> run : 0;
        }
    }
    void add(const WindowCounts& others) noexcept {
        for (unsigned i = 0; i < edges_.size(); ++i) {
            edges_[i] += others.edges_[i];
        }
    }
    [[nodiscard]] Count at(unsigned i) const noexcept {
        Count sum;
        for (unsigned edge = 0; edge <= i; ++edge) {
            sum += edges_[edge];
        }
        return sum;
    }

    bool operator==(const WindowCounts&) const = default;

    template <typename Io>
    void state(Io& io) {
        io(edges_);
    }

  private:
    std::array<Count, kWindows + 1> edges_{};  // wraps around, the sums do not
};

}  // namespace unecho::analyze
