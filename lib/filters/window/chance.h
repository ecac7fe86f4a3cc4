// SPDX-License-Identifier: BSD-3-Clause
// The chance that a digest never inserted matches a filter of segments now, from what its segments
// hold: how likely each matches (MatchTable), and how likely k in a row do (APBF section 5.3).
//
// A segment is read by its changes, the insertions that set a bit of it that was clear. Copies
// change nothing, nor do digests that were taken for echoes by accident; and what each change sets
// is as random as ever, whatever the other segments made of the digest. So changes say what a
// segment holds under every policy, limit and traffic; insertions would not. What they say of bits
// is exact; of blocks and windows it is the mean over tables with as many changes, from which
// tables of few blocks deviate.
//
// May not: allocate, look at bits, know the time. Float operations in a fixed order.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "filters/window/segment_ring.h"

namespace unecho::filter {

// Two keys share a digest: no match is surer than that.
inline constexpr float kMinChance = 0x1p-64F;

// How likely a segment matches, by its changes.
class MatchTable {
  public:
    static constexpr unsigned kIntervals = 256;

    MatchTable() noexcept = default;

    // match(n): the chance that a segment into which n random digests went matches another one,
    // from 0 on never falling and towards 1. half: the n that fill it to half. k: slots that an
    // insertion writes.
    static MatchTable make(double half, unsigned k, const std::function<double(double)>& match);
    // Segments of m bits in which a digest has one.
    static MatchTable of_bits(std::uint64_t m, unsigned k);

    // How many changes so many random digests make, about; at least 1.
    [[nodiscard]] std::uint64_t changes_of(std::uint64_t digests) const;

    // Rounded up to the next step: at most 1/256 of the changes that a generation makes when its
    // segments fill to half in k of them, and at least one.
    [[nodiscard]] std::uint64_t rounded(std::uint64_t changes) const noexcept {
        return (changes + step_ - 1) & ~(step_ - 1);
    }

    // An upper bound, straight between the points of the table.
    [[nodiscard]] float match(std::uint64_t changes) const noexcept {
        const float position = static_cast<float>(rounded(changes)) * intervals_per_change_;
        if (!(position < kIntervals)) {
            return 1;
        }
        const auto below = static_cast<unsigned>(position);
        const float part = position - static_cast<float>(below);
        return at_[below] + part * (at_[below + 1] - at_[below]);
    }

  private:
    MatchTable(double half, unsigned k, double most_changes);

    std::array<float, kIntervals + 1> at_{};
    float intervals_per_change_ = 1;
    std::uint64_t step_ = 1;  // a power of two
};

// k consecutive slots match, each by the table. At least kMinChance, at most 1.
[[nodiscard]] float chance_of_run(const SegmentRing& ring, const MatchTable& table) noexcept;

// The same, worked out anew only when rounding makes a difference.
class CachedChance {
  public:
    [[nodiscard]] float at(const SegmentRing& ring, const MatchTable& table,
                           const FilterCounters& counters) noexcept {
        if (counters.insertions > last_ || ring.generation() != generation_) [[unlikely]] {
            renew(ring, table, counters);
        }
        return chance_;
    }

    // After anything but insertions and advance().
    void renew(const SegmentRing& ring, const MatchTable& table,
               const FilterCounters& counters) noexcept;

  private:
    float chance_ = kMinChance;
    std::uint64_t generation_ = 0;
    std::uint64_t last_ = 0;  // FilterCounters::insertions up to which the chance stands
};

}  // namespace unecho::filter
