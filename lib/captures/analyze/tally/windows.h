// SPDX-License-Identifier: BSD-3-Clause
// Every window at once: 32 window buckets from 100 ns to 1000 s in steps 1-2-5, and the last
// without end. One pass computes exactly what policy fixed does with a key under each of them.
//
// Policy fixed remembers the last accepted packet of a key, which differs from window to window.
// For a key that came a few times these are mostly two times, split at one window. Only keys for
// which two are not enough get a time for each window (BucketTimes).
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
// By bit width: how many windows are too short for the smallest age with this width.
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

// Return how many windows are too short for this age: those with a window <= age. The windows from
// this index on contain it. Ages are below kNoWindowEnd.
[[nodiscard]] constexpr unsigned windows_up_to(Nanoseconds age) noexcept {
    const unsigned n = detail::kRankStarts[static_cast<unsigned>(std::bit_width(age))];
    return n + (kWindowBuckets[n] <= age ? 1U : 0U);
}

// Bit i: window kWindowBuckets[i].
using WindowMask = std::uint32_t;

// Return the windows from n on; n up to kWindows.
[[nodiscard]] constexpr WindowMask from(unsigned n) noexcept {
    return static_cast<WindowMask>(~std::uint64_t{0} << n);
}

inline constexpr std::uint32_t kNoBucketTimes = UINT32_MAX;

// When each window last accepted a key: windows below `split` when the key was last seen, which its
// owner stores, the others at `high`. With bucket_times, the times are there instead.
struct AcceptedTimes {
    Nanoseconds high = 0;
    std::uint32_t bucket_times = kNoBucketTimes;
    std::uint8_t split = 0;
    // Fields of the key's owner, in what would be padding. other_point: hash of another point that
    // saw the packet (0: none). lead: looks by which the first point is ahead of that one. looks:
    // their number since the packet was away for kMaxPathDelay.
    std::uint16_t other_point : 10 = 0;
    std::int16_t lead : 3 = 1;
    std::uint16_t looks : 3 = 1;
};

// Pool of BucketTimes for keys that need them. It is bounded: when it is full, another key loses
// its times and is then approximated by two, which is counted.
class BucketTimesPool {
  public:
    explicit BucketTimesPool(std::size_t most) : most_(most) {
        pool_.reserve(most);  // addresses only, until they are used
        rests_.reserve(most);
        owners_ = std::make_unique_for_overwrite<AcceptedTimes*[]>(most);
        // A large page is cleared as a whole, which is too much for a few entries.
        constexpr std::size_t kInSmallPages = std::size_t{1} << 14;
        const std::size_t few = std::min(most, kInSmallPages);
        advise_huge_pages(pool_.data() + few, (most - few) * sizeof(BucketTimes));
    }

    [[nodiscard]] static AcceptedTimes first(Nanoseconds now) noexcept {
        return {now, kNoBucketTimes, 0};
    }

    // Update a key that was last seen at `last`. Return the windows that drop the packet. Times
    // never decrease. The key must not move until it is released.
    WindowMask step(AcceptedTimes& key, Nanoseconds last, Nanoseconds now);

    void release(AcceptedTimes& key);

    // Give a key, a copy of one with times in the pool `from` (may be this), its own times.
    void adopt(AcceptedTimes& key, Nanoseconds last, const BucketTimesPool& from);

    // Return when a key was seen first.
    [[nodiscard]] Nanoseconds first_of(const AcceptedTimes& key) const noexcept {
        return key.bucket_times == kNoBucketTimes ? key.high : last_of(key.bucket_times);
    }

    void prefetch(const AcceptedTimes& key) const noexcept {
        if (key.bucket_times != kNoBucketTimes) {
            prefetch_line(&pool_[key.bucket_times]);
        }
    }

    // How often BucketTimes were taken from a key. The counts of as many keys may be wrong.
    [[nodiscard]] std::uint64_t taken() const noexcept { return taken_; }

    [[nodiscard]] std::size_t bytes() const noexcept { return pool_.size() * kBytes; }

    static constexpr std::size_t kBytes = 64 * 5;  // of one BucketTimes, about

  private:
    // Adjacent windows with the same time are a stretch, and share one entry. As many as most keys
    // have fit one cache line; further ones are in OverflowTimes.
    static constexpr unsigned kInlineTimes = 7;
    struct alignas(64) BucketTimes {
        WindowMask starts = 0;  // bit i: a stretch begins at window i; bit 0 is always set
        std::uint32_t rest = kNoBucketTimes;  // index of its OverflowTimes, if it has any
        std::array<Nanoseconds, kInlineTimes>
            times{};  // of the stretches; those behind are arbitrary past times
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
    WindowMask step_bucket_times(std::uint32_t index, Nanoseconds now);
    WindowMask step_long(BucketTimes& bucket_times, Nanoseconds now);
    OverflowTimes& rest_of(BucketTimes& bucket_times);
    void drop_rest(BucketTimes& bucket_times);

    std::size_t most_;
    std::vector<BucketTimes> pool_;
    std::vector<OverflowTimes> rests_;
    std::vector<std::uint32_t> free_rests_;
    std::unique_ptr<AcceptedTimes*[]> owners_;  // the key that each entry belongs to
    std::vector<std::uint32_t> free_;
    std::size_t hand_ = 0;
    std::uint64_t taken_ = 0;
};

// Packets and bytes by window. A run of adjacent windows is added where it begins and subtracted
// where it ends, so a packet costs as many steps as its mask has runs: mostly one.
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
    std::array<Count, kWindows + 1> edges_{};  // may wrap around; the sums do not
};

}  // namespace unecho::analyze
