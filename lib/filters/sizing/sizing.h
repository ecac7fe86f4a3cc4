// SPDX-License-Identifier: BSD-3-Clause
// Targets <-> geometry: what a filter must do and what it gives, in words common to all of them.
// Pure functions; the formulas are in fpr.h.
//
// sizing/window has a header for each engine: its geometry, size_*() and predict(). sizing/sets and
// baseline.h have the formulas of what filter/sets and filter/baseline offer.
//
// size_*() gives the geometry that meets the targets with the least memory. Those within 1 % of the
// least count as equal, and of them the one whose new keys touch fewest cache lines is taken,
// unless its header says otherwise. The load of a segment is whatever costs least, not always the
// fill 1/2 of the papers.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace unecho::sizing {

// Beyond these size_* answers Errc::kInvalidArgument.
inline constexpr Nanoseconds kMaxWindow = 8760 * 3600 * kSecond;  // a year
inline constexpr double kMaxRate = 1e12;
inline constexpr double kMaxFalseDrop = 0.5;
inline constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 40;

// A found geometry forgets: its peak NPWS is at most this.
inline constexpr double kMaxNpws = 0.5;

// What one filter instance (one worker) must do.
struct Targets {
    Nanoseconds window = 0;
    double keys_per_second = 0;  // that the instance takes
    double max_false_drop = 0;   // chance that a new key is taken for an echo, in (0, 0.5]
    double spread = 0;           // the chance holds up to load_for(keys of a generation, spread)
};

// Keys that a generation must have room for, where so many are expected, with so many standard
// deviations of random arrivals.
std::uint64_t load_for(std::uint64_t keys, double spread);
// The most keys that such a load is for; at least 1.
std::uint64_t keys_for(std::uint64_t load, double spread);

// What a geometry gives when its planned rate is met, in the worst phase (just before a shift).
struct Prediction {
    double false_drop = 0;  // on keys never inserted before
    double npws = 0;        // peak normalised probability-weighted slack (APBF section 2.1)
    Nanoseconds generation =
        0;                  // length of one, as they are counted: a tick, where there are phases
    unsigned phases = 1;    // so many generations from a shift of a segment to its next
    Nanoseconds slack = 0;  // a key is forgotten at window + slack at the latest
    std::uint64_t generation_keys = 0;  // g: insertions in one at the planned rate
    // Keys of a generation beyond which they push each other out; 0: there may be any number.
    std::uint64_t room = 0;
    std::uint64_t shift_keys = 0;   // insertions between two shifts of a segment, likewise
    std::uint64_t window_keys = 0;  // insertions in the window at the planned rate
    std::uint64_t bytes = 0;        // of all segments in use (without spares)
    double bits_per_key = 0;        // memory per window key
    double lines_per_packet = 0;    // cache lines touched by a new key: query and insertion
};

}  // namespace unecho::sizing
