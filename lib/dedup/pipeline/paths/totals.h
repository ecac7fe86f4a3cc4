// SPDX-License-Identifier: BSD-3-Clause
// Counters of paths on one worker: for each ordered pair of points which sampled packets came
// from one to the other, which never came, how late they were and what changed on the way.
//
// The block of a pair is too large to be copied at each snapshot. So any thread reads it while the
// worker writes: each word by itself, without waiting.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/counters.h"
#include "base/units.h"
#include "packets/keys/change.h"

namespace unecho::pipeline {

// A word that one thread writes and others read.
template <typename T>
class SharedWord {
  public:
    [[nodiscard]] T get() const noexcept { return value_.load(std::memory_order_relaxed); }
    void set(T value) noexcept { value_.store(value, std::memory_order_relaxed); }
    void add(T more) noexcept { set(get() + more); }

  private:
    static_assert(std::atomic<T>::is_always_lock_free);
    std::atomic<T> value_{};
};

// Delays by their logarithm, 32 buckets to a power of two, from 64 ns to 18 minutes. Each bucket
// keeps count, mean and spread of its values, so that quantiles are finer than buckets.
template <typename Count, typename Sum>
struct DelayBuckets {
    static constexpr unsigned kPerOctave = 32;
    static constexpr unsigned kFirstOctave = 6;
    static constexpr unsigned kOctaves = 34;
    static constexpr unsigned kBuckets = (kOctaves + 1) * kPerOctave;  // the first ones are linear

    struct Bucket {
        Count count{};
        Sum sum{};      // of the values' distances from the bucket's begin, in ns
        Sum squares{};  // likewise, of the squares
    };
    std::array<Bucket, kBuckets> buckets{};

    [[nodiscard]] static constexpr unsigned bucket_of(Nanoseconds delay) noexcept {
        constexpr Nanoseconds kFirst = Nanoseconds{1} << kFirstOctave;
        if (delay < kFirst) {
            return static_cast<unsigned>(delay * kPerOctave / kFirst);
        }
        const auto octave = static_cast<unsigned>(std::bit_width(delay)) - 1;
        const auto part = static_cast<unsigned>((delay >> (octave - 5)) & (kPerOctave - 1));
        const unsigned bucket = (octave - kFirstOctave + 1) * kPerOctave + part;
        return bucket < kBuckets ? bucket : kBuckets - 1;
    }
    // Delays in [begin_of(i), begin_of(i + 1)) are in bucket i; the last holds all longer ones.
    [[nodiscard]] static constexpr Nanoseconds begin_of(unsigned bucket) noexcept {
        if (bucket < kPerOctave) {
            return bucket * ((Nanoseconds{1} << kFirstOctave) / kPerOctave);
        }
        const unsigned octave = kFirstOctave + bucket / kPerOctave - 1;
        return (Nanoseconds{kPerOctave} + bucket % kPerOctave) << (octave - 5);
    }
};

// The counters of a pair. `arrived` and `missing` are the packets that are judged: those that had
// to come, as known before they were first seen.
struct PathCounters {
    std::uint64_t arrived = 0;
    std::uint64_t missing = 0;
    std::uint64_t unannounced = 0;
    std::uint64_t alone = 0;
    std::uint64_t came = 0;
    std::uint64_t directed = 0;
    std::uint64_t timed = 0;
    std::uint64_t late = 0;
    std::uint64_t reversed = 0;
    std::uint64_t overtaken = 0;
    std::uint64_t untimed = 0;
};
inline constexpr CounterRows<PathCounters, 11> kPathCounters{{
    {&PathCounters::arrived, "arrived", CounterUnit::kPackets, CounterMerge::kSum,
     "sampled packets that had to come from one point to the other, and came within the window"},
    {&PathCounters::missing, "missing", CounterUnit::kPackets, CounterMerge::kSum,
     "sampled packets that had to come, and did not"},
    {&PathCounters::unannounced, "unannounced", CounterUnit::kPackets, CounterMerge::kSum,
     "sampled packets that came to the second point and must have passed the first, whose tap lost "
     "them"},
    {&PathCounters::alone, "alone", CounterUnit::kPackets, CounterMerge::kSum,
     "sampled packets seen at the first point alone, of which is not known that they lead to the "
     "second"},
    {&PathCounters::came, "came", CounterUnit::kPackets, CounterMerge::kSum,
     "all sampled packets that came, also those that are not judged"},
    {&PathCounters::directed, "directed", CounterUnit::kPackets, CounterMerge::kSum,
     "of these, packets whose direction is known; their changes are counted"},
    {&PathCounters::timed, "timed", CounterUnit::kPackets, CounterMerge::kSum,
     "of these, packets whose delay is known to 20 us"},
    {&PathCounters::late, "late", CounterUnit::kPackets, CounterMerge::kSum,
     "of the timed ones, packets that took longer than max_path_delay"},
    {&PathCounters::reversed, "reversed", CounterUnit::kPackets, CounterMerge::kSum,
     "sampled packets that passed the points of a stated path in the other order; they are not "
     "judged"},
    {&PathCounters::overtaken, "overtaken", CounterUnit::kPackets, CounterMerge::kSum,
     "packets that came behind a sampled one that was sent later"},
    {&PathCounters::untimed, "untimed", CounterUnit::kPackets, CounterMerge::kSum,
     "packets that came, whose delay is not known to 20 us because they waited for their worker"},
}};
static_assert(describes_every_counter(kPathCounters));

// All packets from a point to another, where the filter notes them; 0 otherwise.
struct AllPackets {
    std::uint64_t arrived = 0;
    std::uint64_t missing = 0;
    std::uint64_t unannounced = 0;
};

// Delays in ns, of the packets that were timed.
struct PathDelays {
    std::uint64_t count = 0;
    double sum = 0;
    double variation = 0;  // sum of |difference| to the delay of the packet before
    Nanoseconds least = 0;
    Nanoseconds most = 0;
    std::uint64_t first_of_runs = 0;  // packets without one before: one a worker
    DelayBuckets<std::uint64_t, double> histogram;
};

// A copy of the counts of a pair, or the sum of several workers'.
struct PathCount {
    PathCounters counters;
    AllPackets all;
    std::array<std::uint64_t, packet::kChangeNames.size()> changes{};
    double hops = 0;  // sum of the TTL's decrease
    PathDelays delays;

    PathCount& operator+=(const PathCount& other) noexcept;
};

// The counts of a pair as its worker writes them.
class PathCell {
  public:
    void add(std::uint64_t PathCounters::*counter) noexcept;
    void add_changes(packet::Changes changes, int hops) noexcept;
    void add_delay(Nanoseconds delay) noexcept;
    void set_all(const AllPackets& all) noexcept;
    [[nodiscard]] PathCount read() const noexcept;

  private:
    std::array<SharedWord<std::uint64_t>, kPathCounters.size()> counters_;
    std::array<SharedWord<std::uint64_t>, packet::kChangeNames.size()> changes_;
    SharedWord<std::uint64_t> all_arrived_;
    SharedWord<std::uint64_t> all_missing_;
    SharedWord<std::uint64_t> all_unannounced_;
    SharedWord<double> hops_;
    SharedWord<double> sum_;
    SharedWord<double> variation_;
    SharedWord<Nanoseconds> least_;
    SharedWord<Nanoseconds> most_;
    Nanoseconds last_ = 0;  // delay, only the worker's
    DelayBuckets<SharedWord<std::uint64_t>, SharedWord<double>> histogram_;
};

// Figures of all pairs together.
struct PathSampleCounters {
    std::uint64_t packets = 0;
    std::uint64_t unjudged = 0;
    std::uint64_t crowded = 0;
    std::uint64_t doubled = 0;
    std::uint64_t bits = 0;
    std::uint64_t entries = 0;
    std::uint64_t all_unjudged = 0;
};
inline constexpr CounterRows<PathSampleCounters, 7> kPathSampleCounters{{
    {&PathSampleCounters::packets, "packets", CounterUnit::kPackets, CounterMerge::kSum,
     "sampled packets, each counted at every point that saw it"},
    {&PathSampleCounters::unjudged, "unjudged", CounterUnit::kPackets, CounterMerge::kSum,
     "of these, packets of which nothing is said to be missing: seen after the start, after a "
     "change of the sample, or while packets passed unfiltered"},
    {&PathSampleCounters::crowded, "crowded", CounterUnit::kPackets, CounterMerge::kSum,
     "of these, equal packets too many to be told apart, or without room"},
    {&PathSampleCounters::doubled, "doubled", CounterUnit::kPackets, CounterMerge::kSum,
     "of these, packets that one point showed twice"},
    {&PathSampleCounters::bits, "bits", CounterUnit::kCount, CounterMerge::kMax,
     "the sample is 2^-bits of all keys"},
    {&PathSampleCounters::entries, "entries", CounterUnit::kCount, CounterMerge::kSum,
     "keys remembered now"},
    {&PathSampleCounters::all_unjudged, "all_unjudged", CounterUnit::kPackets, CounterMerge::kSum,
     "with path_packets = \"all\", packets outside the sample, too, of which nothing is said"},
}};
static_assert(describes_every_counter(kPathSampleCounters));

class PathTotals {
  public:
    // cells: one for each ordered pair of points, points * points in all.
    PathTotals(std::size_t points, std::span<PathCell> cells) noexcept
        : points_(points), cells_(cells) {}

    [[nodiscard]] std::size_t points() const noexcept { return points_; }
    [[nodiscard]] PathCell& at(std::size_t from, std::size_t to) noexcept {
        return cells_[from * points_ + to];
    }
    [[nodiscard]] const PathCell& at(std::size_t from, std::size_t to) const noexcept {
        return cells_[from * points_ + to];
    }
    void add(std::uint64_t PathSampleCounters::*counter, std::uint64_t more) noexcept;
    void set(std::uint64_t PathSampleCounters::*counter, std::uint64_t value) noexcept;
    [[nodiscard]] PathSampleCounters sample() const noexcept;

    [[nodiscard]] static constexpr std::uint64_t bytes(std::size_t points) noexcept {
        return points * points * sizeof(PathCell);
    }

  private:
    std::size_t points_;
    std::array<SharedWord<std::uint64_t>, kPathSampleCounters.size()> sample_;
    std::span<PathCell> cells_;
};

}  // namespace unecho::pipeline
