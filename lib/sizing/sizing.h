// SPDX-License-Identifier: BSD-3-Clause
// Targets <-> geometry. For each filter: the geometry that meets window, rate and false-drop rate
// with the least memory, and what a geometry predicts. Pure functions; the formulas are in fpr.h.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "base/units.h"
#include "sizing/fpr.h"

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
    std::uint64_t shift_keys = 0;       // insertions between two shifts of a segment, likewise
    std::uint64_t window_keys = 0;      // insertions in the window at the planned rate
    std::uint64_t bytes = 0;            // of all segments in use (without spares)
    double bits_per_key = 0;            // memory per window key
    double lines_per_packet = 0;        // cache lines touched by a new key: query and insertion
};

struct ApbfGeometry {
    unsigned k = 0;
    unsigned l = 0;
    std::uint64_t m = 0;  // bits of a slice
};

struct ApbbfGeometry {
    unsigned k = 0;
    unsigned l = 0;
    unsigned B = 512;          // bits of a block
    unsigned b = 0;            // bits set in a block by a key
    std::uint64_t blocks = 0;  // of a segment
};

// Segments that are ShBF_M, with one shift.
struct ShbfWindowGeometry {
    unsigned k = 0;
    unsigned l = 0;
    std::uint64_t m = 0;  // bits of a segment, without padding
    unsigned b = 0;       // bits set in a segment by a key
};

// Segments that are ShBF_X, for the first c packets of a flow.
struct ShbfXWindowGeometry {
    unsigned k = 0;       // bits set in a segment by a packet that passes
    unsigned l = 0;       // 1 + l segments
    std::uint64_t m = 0;  // bits of a segment, without padding
    unsigned c = 0;       // largest multiplicity
};

struct TlbfGeometry {
    unsigned k = 0;
    unsigned l = 0;
    unsigned max_slices = 0;        // that may be alive at a time
    std::uint64_t capacity = 0;     // keys of a window at the planned rate
    std::uint64_t arena_bytes = 0;  // for all slices
};

struct ExactGeometry {
    std::uint64_t entries = 0;
};

// The geometry that meets the targets with the least memory. Those within 1 % of the least count as
// equal, and of them the one whose new keys touch fewest cache lines is taken. The load of a
// segment is whatever costs least, not always the fill 1/2 of the paper.
Result<ApbfGeometry> size_apbf(const Targets& targets);
Result<ApbbfGeometry> size_apbbf(const Targets& targets);
Result<ShbfWindowGeometry> size_shbf_window(const Targets& targets);
// For the first n packets of a flow, n of 1 to 57. All packets at the planned rate count as passed,
// and a false drop is that of a flow's last packet, the n-th: earlier ones are less likely. Up to
// half more than the least memory is taken for fewer cache lines.
Result<ShbfXWindowGeometry> size_shbf_x_window(const Targets& targets, unsigned n);
// Here the rate is what the arena is made for; max_false_drop holds at any rate.
Result<TlbfGeometry> size_tlbf(const Targets& targets);
Result<ExactGeometry> size_exact(const Targets& targets);

// The match probabilities of the segments, youngest first, in generations of g keys.
Profile shbf_window_profile(const ShbfWindowGeometry& geometry, std::uint64_t g, Phase phase);

// At most, after so many packets in a segment: one given multiplicity matches a flow that does not
// have it, and any of the c does.
double shbf_x_multiplicity_match(const ShbfXWindowGeometry& geometry, double packets);
double shbf_x_match(const ShbfXWindowGeometry& geometry, double packets);

// For a geometry with k, l, m, b, c, blocks, entries of at least 1 and B/b of at least 2, and a
// window of 1 ns to kMaxWindow. keys_per_second absent: the geometry's own capacity is the planned
// rate, that is fill 1/2 in a full segment, or a full table.
Prediction predict(const ApbfGeometry& geometry, Nanoseconds window,
                   std::optional<double> keys_per_second);
Prediction predict(const ApbbfGeometry& geometry, Nanoseconds window,
                   std::optional<double> keys_per_second);
Prediction predict(const ShbfWindowGeometry& geometry, Nanoseconds window,
                   std::optional<double> keys_per_second);
Prediction predict(const ShbfXWindowGeometry& geometry, Nanoseconds window,
                   std::optional<double> keys_per_second);
Prediction predict(const TlbfGeometry& geometry, Nanoseconds window,
                   std::optional<double> keys_per_second);
Prediction predict(const ExactGeometry& geometry, Nanoseconds window,
                   std::optional<double> keys_per_second);

}  // namespace unecho::sizing
