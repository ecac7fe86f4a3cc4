// SPDX-License-Identifier: BSD-3-Clause
// Parts that the searches of all filter families share. Internal to sizing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "filters/sizing/fpr.h"
#include "filters/sizing/sizing.h"

namespace unecho::sizing {

// Segments and tables take whole cache lines.
inline constexpr std::uint64_t kLineBytes = 64;
inline constexpr std::uint64_t kLineBits = 8 * kLineBytes;

// State of a ring of segments, in addition to the segments
// (filters/window/segmented/segment_ring.h).
inline constexpr std::uint64_t kSegmentRingBytes = 1344;

[[nodiscard]] constexpr std::uint64_t lines_for_bits(std::uint64_t bits) {
    return (bits + kLineBits - 1) / kLineBits;
}

// Return Errc::kInvalidArgument, with what is allowed, for targets that no filter can meet.
Status check(const Targets& targets);

// Return the error for targets that are each allowed, but not together.
tl::unexpected<Error> too_much(const Targets& targets, std::uint64_t bytes_allowed = kMaxBytes);

// Return the keys that arrive within `time` at a steady rate; at least 1.
std::uint64_t keys_within(Nanoseconds time, double keys_per_second);

// Return the load of a generation of that length: keys_within() with the targets' spread.
std::uint64_t load_within(Nanoseconds time, const Targets& targets);

// Return the shortest generation of which l cover the window.
Nanoseconds generation_length(Nanoseconds window, unsigned l);

// Return the slack: a key is forgotten at the latest k + l generations after its own began.
Nanoseconds slack(Nanoseconds window, unsigned k, unsigned l);

struct WorstCase {
    double false_drop = 0;
    double npws = 0;
};

// Return the worst case, just before a shift, for its profile r. It includes collisions of digests:
// a new key may share the digest of a key that the filter still answers "echo" to.
WorstCase worst_case(unsigned k, unsigned l, const Profile& r, std::uint64_t generation_keys);

[[nodiscard]] inline bool meets(const WorstCase& reached, const Targets& targets) {
    return reached.false_drop <= targets.max_false_drop && reached.npws <= kMaxNpws;
}

// The insertions of a filter of l generations.
struct Load {
    Nanoseconds window = 0;
    std::uint64_t window_keys = 0;
    std::uint64_t generation_keys = 0;
};

// Return the load at the planned rate, or without one at the filter's own capacity.
Load load_of(Nanoseconds window, unsigned l, std::optional<double> keys_per_second,
             std::uint64_t generation_capacity);

// Predict for a filter of k + l segments in `bytes` bytes, own_bytes of them for other state.
Prediction predict_segments(unsigned k, unsigned l, const Profile& r, const Load& load,
                            std::uint64_t bytes, std::uint64_t own_bytes = kSegmentRingBytes);

// Return the smallest n in [low, high] with enough(n), which must be monotonic.
template <typename Enough>
std::optional<std::uint64_t> smallest(std::uint64_t low, std::uint64_t high, Enough enough) {
    if (low > high || !enough(high)) {
        return std::nullopt;
    }
    while (low < high) {
        const std::uint64_t middle = low + (high - low) / 2;
        if (enough(middle)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return high;
}

// Geometries that need about the least memory: at most `range` per cent more.
template <typename Geometry>
class Shortlist {
  public:
    explicit Shortlist(std::uint64_t range = 1) : range_(range) {}

    // Return the size beyond which no geometry can be picked.
    [[nodiscard]] std::uint64_t max_bytes() const { return std::min(kMaxBytes, tie(least_)); }

    void add(const Geometry& geometry, std::uint64_t bytes) {
        least_ = std::min(least_, bytes);
        entries_.emplace_back(bytes, geometry);
    }

    // Return the geometry with the lowest cost(geometry), among equals with the least memory.
    template <typename Cost>
    [[nodiscard]] std::optional<Geometry> pick(Cost cost) const {
        std::optional<Geometry> picked;
        std::pair<double, std::uint64_t> picked_rank;
        for (const auto& [bytes, geometry] : entries_) {
            if (bytes > tie(least_)) {
                continue;
            }
            const std::pair<double, std::uint64_t> rank{cost(geometry), bytes};
            if (!picked || rank < picked_rank) {
                picked = geometry;
                picked_rank = rank;
            }
        }
        return picked;
    }

  private:
    [[nodiscard]] std::uint64_t tie(std::uint64_t bytes) const {
        return bytes > kMaxBytes ? bytes : bytes + bytes * range_ / 100;
    }

    std::uint64_t range_;
    std::uint64_t least_ = std::numeric_limits<std::uint64_t>::max();
    std::vector<std::pair<std::uint64_t, Geometry>> entries_;
};

}  // namespace unecho::sizing
