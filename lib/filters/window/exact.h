// SPDX-License-Identifier: BSD-3-Clause
// Exact table with times: the reference filter, for small windows and for audits.
//
// Guarantee: a digest is an echo iff its reference is younger than the window (0 <= age < window),
//   if at most `entries` digests live at a time. Beyond that the oldest is evicted (evicted_early).
// Cost: a new digest touches its bucket, the entry that it takes over and that entry's old bucket:
//   about three cache lines; an echo touches two. 40 bytes an entry: 32 and two buckets of 4.
// Accuracy: two digests are the same iff their 64 bits are: no false positives of its own.
// Weakness: memory, ten times that of a Bloom filter at a false-positive rate of 1e-6.
//
// Points: where packets pass several points of observation, an entry notes which of them showed its
//   packet (note_points()). When it is forgotten, its points are counted: that is what never came.
//
// Layout: entries are in a doubly linked list by age; a refresh moves an entry to the young end.
//   Each bucket has a singly linked chain, and there are two buckets for each entry. Expired
//   entries stay in place and count as absent. A new digest takes over the oldest entry if that has
//   expired, else an unused one, so the memory in use follows the window. Every operation does at
//   most one look-up and one unlinking, each along a chain of mean length at most 1/2.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "base/prefetch.h"
#include "base/result.h"
#include "base/units.h"
#include "filters/achieved_window.h"
#include "filters/filter.h"
#include "filters/hash/digest.h"
#include "filters/storage.h"

namespace unecho::filter {

inline constexpr Nanoseconds kInfiniteWindow = std::numeric_limits<Nanoseconds>::max();

inline constexpr std::uint64_t kMaxExactEntries = std::uint64_t{1} << 31;

struct ExactSpec {
    std::uint64_t entries = 0;  // digests that live at a time
    Nanoseconds window = 0;     // kInfiniteWindow: an entry never expires
    EchoPolicy policy = EchoPolicy::kFixed;
};

class ExactParams {
  public:
    static Result<ExactParams> make(const ExactSpec& spec);

    [[nodiscard]] std::uint64_t entries() const noexcept { return spec_.entries; }
    [[nodiscard]] Nanoseconds window() const noexcept { return spec_.window; }
    [[nodiscard]] EchoPolicy policy() const noexcept { return spec_.policy; }
    [[nodiscard]] std::uint64_t buckets() const noexcept { return 2 * spec_.entries; }

  private:
    explicit ExactParams(const ExactSpec& spec) noexcept : spec_(spec) {}
    ExactSpec spec_;
};

// Digests that were forgotten at the end of their window, by the points that had shown them: bit p
// of the index is point p.
struct ForgottenByPoints {
    static constexpr unsigned kPoints = 8;
    std::array<std::uint64_t, 1U << kPoints> digests{};
    // Not judged: others may have shown them before the first note, or unnoticed, or the table was
    // full and forgot them early.
    std::uint64_t unjudged = 0;
};

class Exact {
  public:
    static constexpr std::size_t kEntryBytes = 32;

    [[nodiscard]] static std::size_t bytes(const ExactParams& params) noexcept {
        return heads_bytes(params) + align_to_line((params.entries() + 1) * sizeof(Entry));
    }

    // kRestored: links are rebuilt from the entries, so that nothing can be torn.
    Exact(const ExactParams& params, std::span<std::byte> memory,
          Contents contents = Contents::kZero) noexcept;
    [[nodiscard]] static bool is_consistent(const ExactParams& /*params*/,
                                            std::span<std::byte> /*memory*/) noexcept {
        return true;
    }

    void prefetch(Digest digest) const noexcept { prefetch_line(&heads_[bucket_of(digest)]); }
    bool test_and_insert(Digest digest) noexcept;
    std::uint64_t test_and_insert_burst(std::span<const Digest> digests) noexcept;
    // Return the answer without inserting.
    [[nodiscard]] bool query(Digest digest) const noexcept {
        const Index index = find(bucket_of(digest), digest);
        return index != 0 && is_live(entries_[index]);
    }
    // Count from 0, and judge nothing that was seen before. Until then nothing is counted.
    void start_points() noexcept;
    // Note by which points these digests, which were just tested, were shown: a bit each.
    void note_points(std::span<const Digest> digests,
                     std::span<const std::uint8_t> points) noexcept;
    // Report that points showed digests that were not tested.
    void miss_points() noexcept;
    // Count digests that were forgotten while none came, at most a few at a time.
    void maintain() noexcept;
    [[nodiscard]] const ForgottenByPoints& forgotten() const noexcept { return forgotten_; }

    // Time never goes back: a moment before the present one changes nothing.
    void advance(Moment moment) noexcept { now_ = moment.now > now_ ? moment.now : now_; }
    void clear() noexcept;

    [[nodiscard]] const AchievedWindow& kept() const noexcept { return kept_; }
    [[nodiscard]] const ExactParams& params() const noexcept { return params_; }
    [[nodiscard]] const FilterCounters& counters() const noexcept { return counters_; }
    [[nodiscard]] std::uint64_t used() const noexcept { return used_; }  // entries ever used

  private:
    // The number of an entry, from 1; 0 ends a chain. Entry 0 is the sentinel of the list by age:
    // its `newer` is the oldest entry, its `older` the youngest.
    using Index = std::uint32_t;

    struct Entry {
        Digest digest;
        Nanoseconds time;
        Index next;  // in the bucket's chain
        Index older;
        Index newer;
        std::uint32_t points;  // that showed it; 0: none was noted, or they are counted
    };
    static_assert(sizeof(Entry) == kEntryBytes);

    [[nodiscard]] static std::size_t heads_bytes(const ExactParams& params) noexcept {
        return align_to_line(params.buckets() * sizeof(Index));
    }
    // Uses the product's high bits: all digests of a worker may share some bits.
    [[nodiscard]] Index bucket_of(Digest digest) const noexcept {
        return static_cast<Index>(reduce(digest * 0x9E3779B97F4A7C15ULL, buckets_));
    }
    [[nodiscard]] bool is_live(const Entry& entry) const noexcept {
        return window_ == kInfiniteWindow || now_ - entry.time < window_;
    }
    void prefetch_entries(std::span<const Digest> digests) const noexcept;
    void rebuild() noexcept;
    [[nodiscard]] Index by_age(Index first) noexcept;
    [[nodiscard]] Index find(Index bucket, Digest digest) const noexcept;
    [[nodiscard]] Index take_entry() noexcept;
    [[nodiscard]] Index& link_in(Index bucket, Index index) noexcept;
    void unchain(Index index) noexcept;
    void leave_list(Index index) noexcept;
    void become_youngest(Index index) noexcept;
    void count_points(Index index, bool judged) noexcept;

    ExactParams params_;
    Nanoseconds window_;
    std::uint64_t buckets_;
    Index* heads_;
    Entry* entries_;
    Index used_ = 0;  // entries 1..used_ were used at least once
    Nanoseconds now_ = 0;
    AchievedWindow kept_;
    FilterCounters counters_;
    bool notes_points_ = false;    // since start_points()
    bool first_note_ = false;      // it has yet to come
    Nanoseconds judged_from_ = 0;  // entries begun before are not judged
    Index uncounted_ = 0;          // no older entry has points to count; 0: not known
    ForgottenByPoints forgotten_;
};

static_assert(SlidingFilter<Exact>);
static_assert(RestorableFilter<Exact, ExactParams>);

inline Exact::Index Exact::find(Index bucket, Digest digest) const noexcept {
    Index index = heads_[bucket];
    while (index != 0 && entries_[index].digest != digest) {
        index = entries_[index].next;
    }
    return index;
}

inline void Exact::leave_list(Index index) noexcept {
    const Entry& entry = entries_[index];
    entries_[entry.older].newer = entry.newer;
    entries_[entry.newer].older = entry.older;
    uncounted_ = index == uncounted_ ? 0 : uncounted_;
}

// Move an entry to the young end of the list, and set its time to the present.
inline void Exact::become_youngest(Index index) noexcept {
    Entry& entry = entries_[index];
    Entry& sentinel = entries_[0];
    entry.time = now_;
    entry.older = sentinel.older;
    entry.newer = 0;
    entries_[sentinel.older].newer = index;
    sentinel.older = index;
    ++counters_.insertions;
}

// Count the points of an entry that is forgotten.
inline void Exact::count_points(Index index, bool judged) noexcept {
    Entry& entry = entries_[index];
    if (entry.points != 0) [[unlikely]] {
        if (judged && entry.time >= judged_from_) {
            ++forgotten_.digests[entry.points];
        } else {
            ++forgotten_.unjudged;
        }
        entry.points = 0;
    }
}

inline bool Exact::test_and_insert(Digest digest) noexcept {
    const Index bucket = bucket_of(digest);
    Index index = find(bucket, digest);
    if (index != 0) {
        const bool echo = is_live(entries_[index]);
        if (!echo || params_.policy() == EchoPolicy::kRefresh) {
            if (!echo) {
                count_points(index, true);
            }
            leave_list(index);
            become_youngest(index);
        }
        return echo;
    }
    index = take_entry();
    Entry& entry = entries_[index];
    entry.digest = digest;
    entry.points = 0;
    entry.next = heads_[bucket];
    heads_[bucket] = index;
    become_youngest(index);
    return false;
}

}  // namespace unecho::filter
