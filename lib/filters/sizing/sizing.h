// SPDX-License-Identifier: BSD-3-Clause
// Module filters/sizing: from targets (window, keys per second, false-drop bound) to the geometry
// of a filter, and from a geometry to what it achieves (Prediction). Pure functions on numbers.
//
// size_*() returns the geometry with the least memory that meets the targets. Geometries within 1 %
// of that count as equal. Among them, the one whose new keys touch the fewest cache lines is taken,
// unless the engine's header says otherwise. The load of a segment is whatever costs least, not
// always the papers' fill of 1/2. predict() takes a valid geometry and a window of 1 ns to
// kMaxWindow. Without keys_per_second, its planned rate is the geometry's own capacity.
//
// The module may include base only, not the filters. dedup/engines/planning/limits_check.cpp and
// appliance/plan/limits_check.cpp compare limits that both state.
//
// Next: window/<engine>.h (geometry, size_*() and predict() of one engine), fpr.h (the formulas,
// each with its source), search.h (what the searches share). sets/ and baseline.h have the formulas
// of filters/sets and filters/papers.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace unecho::sizing {

// Limits: beyond these size_*() returns Errc::kInvalidArgument.
inline constexpr Nanoseconds kMaxWindow = 8760 * 3600 * kSecond;  // a year
inline constexpr double kMaxRate = 1e12;
inline constexpr double kMaxFalseDrop = 0.5;
inline constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 40;

// Greatest peak NPWS of a geometry that is found, so that every filter forgets.
inline constexpr double kMaxNpws = 0.5;

// Targets of one filter instance, that is of one worker.
struct Targets {
    Nanoseconds window = 0;
    double keys_per_second = 0;  // inserted into this instance
    double max_false_drop = 0;   // probability that a new key is taken for an echo, in (0, 0.5]
    double spread = 0;  // that probability holds up to load_for(keys of a generation, spread)
};

// Return the capacity of a generation with `keys` expected insertions: with `spread` standard
// deviations of random arrivals more.
std::uint64_t load_for(std::uint64_t keys, double spread);
// Return the most keys for which such a load suffices; at least 1.
std::uint64_t keys_for(std::uint64_t load, double spread);

// Properties of a geometry at its planned rate, in the worst phase (just before a shift).
struct Prediction {
    double false_drop = 0;       // for keys never inserted before
    double npws = 0;             // peak normalised probability-weighted slack (APBF section 2.1)
    Nanoseconds generation = 0;  // length of one; a tick, if there are phases
    unsigned phases = 1;         // generations from one shift of a segment to its next
    Nanoseconds slack = 0;       // a key is forgotten at window + slack at the latest
    std::uint64_t generation_keys = 0;  // g: insertions in a generation at the planned rate
    // Keys of a generation beyond which they displace each other; 0: no limit.
    std::uint64_t room = 0;
    std::uint64_t shift_keys = 0;   // insertions between two shifts of a segment, likewise
    std::uint64_t window_keys = 0;  // insertions in the window at the planned rate
    std::uint64_t bytes = 0;        // of all segments in use, without spares
    double bits_per_key = 0;        // memory per window key
    double lines_per_packet = 0;    // cache lines touched by a new key: query and insertion
};

}  // namespace unecho::sizing
