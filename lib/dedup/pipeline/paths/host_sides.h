// SPDX-License-Identifier: BSD-3-Clause
// Host sides: on which side of each pair of points a host is, learned from packets that were seen
// at both. A packet between hosts on different sides has to pass both points; that is what makes
// its absence a loss. A host that is seen on both sides says nothing. What is not confirmed in five
// minutes in which others are is forgotten: hosts move, but a dark tap confirms nobody.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/units.h"
#include "filters/hash/digest.h"

namespace unecho::pipeline {

inline constexpr unsigned kMaxPathPoints = 8;
inline constexpr unsigned kMaxPointPairs = kMaxPathPoints * (kMaxPathPoints - 1) / 2;

// Return the index of the pair of points i < j.
[[nodiscard]] constexpr unsigned pair_index(unsigned i, unsigned j) noexcept {
    return j * (j - 1) / 2 + i;
}

// The direction of a packet past a pair of points i < j.
enum class Course : std::uint8_t { kUnknown, kForward, kBackward };

class HostSides {
  public:
    // Two bits a pair of points.
    using Sides = std::uint64_t;
    static_assert(2 * kMaxPointPairs <= 64);

    // memory: zeroes, of two buckets or more; a power of two of them is used.
    explicit HostSides(std::span<std::byte> memory) noexcept;

    // Return what is known of a host now. host 0: none.
    [[nodiscard]] Sides of(Digest host) const noexcept;
    // Report that a packet from one host to another passed a pair of points, forward or backward.
    // `now` may decrease: keys are not judged in the order of their arrivals.
    void learn(Digest source, Digest destination, unsigned pair, Course course,
               Nanoseconds now) noexcept;

    [[nodiscard]] static Course course_of(Sides source, Sides destination, unsigned pair) noexcept {
        const unsigned from = static_cast<unsigned>(source >> 2 * pair & 3);
        const unsigned to = static_cast<unsigned>(destination >> 2 * pair & 3);
        return from == kNear && to == kFar   ? Course::kForward
               : from == kFar && to == kNear ? Course::kBackward
                                             : Course::kUnknown;
    }

  private:
    static constexpr unsigned kNear = 1;  // on the side of the pair's first point
    static constexpr unsigned kFar = 2;
    static constexpr unsigned kBoth = 3;
    static constexpr unsigned kWays = 4;

    struct Host {
        Digest digest;  // 0: unused
        Sides sides;
        Nanoseconds confirmed;
    };
    [[nodiscard]] Host* bucket_of(Digest host) const noexcept;
    [[nodiscard]] Host* find(Digest host) const noexcept;
    void place(Digest host, unsigned pair, unsigned side, Nanoseconds now) noexcept;

    Host* hosts_;
    Nanoseconds latest_ = 0;  // confirmation of any host
    unsigned shift_;          // from a hash to its bucket
};

}  // namespace unecho::pipeline
