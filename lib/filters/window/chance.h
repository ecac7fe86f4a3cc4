// SPDX-License-Identifier: BSD-3-Clause
// The chance that a digest never inserted would match a filter of segments now. It follows from the
// chance that a segment matches (MatchTable) and that k in a row do (APBF section 5.3).
//
// A segment's fill is measured by its changes: the insertions that set a bit of it that was clear.
// Copies change nothing, and digests taken for echoes by accident change nothing. The bits that a
// change sets are random whatever the other segments made of the digest. So changes measure the
// fill under every policy, limit and traffic; insertions would not. For plain bits the result is
// exact. For blocks and windows it is a mean, from which tables of few blocks deviate.
//
// May not: allocate, look at bits, know the time. The order of float operations is fixed.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "filters/window/segmented/segment_ring.h"

namespace unecho::filter {

// A lower bound on any chance: two keys share a digest with about this probability.
inline constexpr float kMinChance = 0x1p-64F;

// The chance that a segment matches, by its changes.
class MatchTable {
  public:
    static constexpr unsigned kIntervals = 256;

    MatchTable() noexcept = default;

    // match(n): the chance that a segment with n random digests matches another one; never falling,
    // towards 1. half: the n that fill it to half. k: slots that an insertion writes.
    static MatchTable make(double half, unsigned k, const std::function<double(double)>& match);
    // Segments of m bits, one bit for each digest.
    static MatchTable of_bits(std::uint64_t m, unsigned k);

    // Return about how many changes this many random digests make; at least 1.
    [[nodiscard]] std::uint64_t changes_of(std::uint64_t digests) const;

    // Round up to the next step. A step is 1/256 of a generation's changes or less, if k
    // generations fill a segment to half; at least one.
    [[nodiscard]] std::uint64_t rounded(std::uint64_t changes) const noexcept {
        return (changes + step_ - 1) & ~(step_ - 1);
    }

    // Return an upper bound, interpolated linearly between the points of the table.
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

// Return the chance that k consecutive slots match, between kMinChance and 1.
[[nodiscard]] float chance_of_run(const SegmentRing& ring, const MatchTable& table) noexcept;

// chance_of_run(), computed again only if rounding lets it change.
class CachedChance {
  public:
    [[nodiscard]] float at(const SegmentRing& ring, const MatchTable& table,
                           const FilterCounters& counters) noexcept {
        if (counters.insertions > last_ || ring.generation() != generation_) [[unlikely]] {
            renew(ring, table, counters);
        }
        return chance_;
    }

    // Call after any change other than insertions and advance().
    void renew(const SegmentRing& ring, const MatchTable& table,
               const FilterCounters& counters) noexcept;

  private:
    float chance_ = kMinChance;
    std::uint64_t generation_ = 0;
    std::uint64_t last_ = 0;  // the chance holds up to this FilterCounters::insertions
};

}  // namespace unecho::filter
