// SPDX-License-Identifier: BSD-3-Clause
// Targets <-> geometry for the fingerprint filter (filters/window/fingerprint.h): a key has two
// cache lines of fingerprints, and one of them keeps its own, with its age, for the generation that
// it came in and l more. Pure functions.
//
// A fingerprint of so many bits is among n others by accident with a chance of at most n 2^-bits,
// and two full lines have no more than that: so the bits follow from the bound alone, and whatever
// the load is no chance is above it. How many lines there are follows from what must not be lost:
// an insertion that finds both of its lines full costs the oldest fingerprint of one of them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/result.h"
#include "base/units.h"
#include "filters/sizing/sizing.h"

namespace unecho::sizing {

// What fills a line: so many fingerprints of so many bits, and their ages.
struct FingerprintShape {
    unsigned bits;
    unsigned slots;
    unsigned l;
    // Of the window, in a line on average. With so many an insertion finds both of its lines full
    // with a chance below 7e-23 (fingerprint_loss). For what that leaves out a factor of 300 is
    // allowed: so the largest table there can be, of 1.2e10 keys, loses one in a window with a
    // chance below 1e-9, one of 2^24 keys with 1e-12.
    double keys_of_line;
};
inline constexpr std::array<FingerprintShape, 4> kFingerprintShapes{
    {{16, 29, 7, 22.1}, {24, 19, 8, 13.2}, {26, 18, 6, 12.0}, {32, 14, 10, 8.8}}};

// Next to the lines (filters/window/fingerprint.h: table_bytes()).
inline constexpr std::uint64_t kFingerprintTableBytes = 320;

inline constexpr std::uint64_t kMaxFingerprintLines = std::uint64_t{1} << 29;
// Fewer have losses that the formula, which is of a table without an end, does not know: at the
// load above one in 1.6 million insertions in 16 lines of 29 fingerprints, a thirtieth of that in
// twice as many. By that, and by the same for the others, 512 lose a key in a window with 2e-10.
inline constexpr std::uint64_t kMinFingerprintLines = 512;

// --- The formulas ---

// The most chance of an accident that there can be: with two full lines.
double fingerprint_most_chance(const FingerprintShape& form);

// An insertion finds both of its lines full, in the mean over a generation, with so many keys of
// the window in a line on average. By the mean field, in which what a line holds is independent of
// what others do: between two turns a line of the first half with x live keys gets one more at the
// rate 2 g P(other >= x), one of the second half at 2 g P(first > x), g keys a line and generation;
// at a turn each live key is of the oldest of the l + 1 generations with a chance of 1 / (l + 1) of
// its own. Within a factor of 4 of what is seen down to 1e-7, of 10 at 1e-9.
double fingerprint_loss(const FingerprintShape& form, double keys_of_line);

// --- Sizing ---

struct FingerprintGeometry {
    unsigned bits = 0;        // of a fingerprint: of kFingerprintShapes
    unsigned l = 0;           // that of the form
    std::uint64_t lines = 0;  // even

    bool operator==(const FingerprintGeometry&) const = default;
};

// With the fewest bits of which no chance is above the bound.
Result<FingerprintGeometry> size_fingerprint(const Targets& targets);

// A geometry of which bits and lines are given; l is added, and lines made even. Errc::
// kInvalidArgument with what is allowed.
Result<FingerprintGeometry> complete_fingerprint(const FingerprintGeometry& given);

// Keys of a generation for which lines are sized.
std::uint64_t fingerprint_capacity(const FingerprintGeometry& geometry);

// For a geometry as above and a window of 1 ns to kMaxWindow. keys_per_second absent: the planned
// rate is that of which a generation has fingerprint_capacity().
Prediction predict(const FingerprintGeometry& geometry, Nanoseconds window,
                   std::optional<double> keys_per_second);

}  // namespace unecho::sizing
