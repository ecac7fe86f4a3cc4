// SPDX-License-Identifier: BSD-3-Clause
// Sizing of the fingerprint filter (filters/window/fingerprint.h). A key has two cache lines of
// fingerprints. One of them keeps the key's fingerprint and age, for the generation of its arrival
// and l more. Pure functions.
//
// A fingerprint equals one of n others by accident with a probability of at most n 2^-bits, and n
// is at most two full lines. So the false-drop bound alone determines the bits, whatever the load.
// The number of lines follows from losses: an insertion that finds both of its lines full costs the
// oldest fingerprint of one of them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/result.h"
#include "base/units.h"
#include "filters/sizing/sizing.h"

namespace unecho::sizing {

// The contents of a line: `slots` fingerprints of `bits` bits, and their ages.
struct FingerprintShape {
    unsigned bits;
    unsigned slots;
    unsigned l;
    // Keys of the window in a line, on average. At this load an insertion finds both lines full
    // with a probability below 7e-23 (fingerprint_loss()). Even if the formula is too low by a
    // factor of 300, the largest possible table, of 1.2e10 keys, loses one in a window with a
    // probability below 1e-9. A table of 2^24 keys does so with 1e-12.
    double keys_of_line;
};
inline constexpr std::array<FingerprintShape, 4> kFingerprintShapes{
    {{16, 29, 7, 22.1}, {24, 19, 8, 13.2}, {26, 18, 6, 12.0}, {32, 14, 10, 8.8}}};

// State in addition to the lines (filters/window/fingerprint.h: table_bytes()).
inline constexpr std::uint64_t kFingerprintTableBytes = 320;

inline constexpr std::uint64_t kMaxFingerprintLines = std::uint64_t{1} << 29;
// Smaller tables have losses that the formula, for a table without end, does not contain. At the
// load above, 16 lines of 29 fingerprints lose one in 1.6 million insertions, twice as many lines a
// thirtieth of that. Extrapolated, 512 lines of any shape lose a key in a window with 2e-10.
inline constexpr std::uint64_t kMinFingerprintLines = 512;

// --- The formulas ---

// Return the greatest probability of an accident, with two full lines.
double fingerprint_most_chance(const FingerprintShape& form);

// Return the probability that an insertion finds both of its lines full, as a mean over a
// generation. A line has keys_of_line keys of the window on average.
//
// By the mean field, in which lines are independent. Let g be the keys of a generation in a line.
// Between two turns, a line with x live keys gets another at the rate 2 g P(other >= x) in the
// first half, and at 2 g P(first > x) in the second half. At a turn, each live key belongs to the
// oldest of the l + 1 generations with probability 1 / (l + 1), independently. Observed losses are
// within a factor of 4 down to 1e-7, and of 10 at 1e-9.
double fingerprint_loss(const FingerprintShape& form, double keys_of_line);

// --- Sizing ---

struct FingerprintGeometry {
    unsigned bits = 0;        // of a fingerprint; one of kFingerprintShapes
    unsigned l = 0;           // that of the shape
    std::uint64_t lines = 0;  // even

    bool operator==(const FingerprintGeometry&) const = default;
};

// Return the geometry with the fewest bits that keep every probability within the bound.
Result<FingerprintGeometry> size_fingerprint(const Targets& targets);

// Complete a geometry with given bits and lines: set l, and make lines even. Return
// Errc::kInvalidArgument with what is allowed.
Result<FingerprintGeometry> complete_fingerprint(const FingerprintGeometry& given);

// Return the keys of a generation for which the lines are sized.
std::uint64_t fingerprint_capacity(const FingerprintGeometry& geometry);

// The geometry's own capacity is fingerprint_capacity() keys a generation.
Prediction predict(const FingerprintGeometry& geometry, Nanoseconds window,
                   std::optional<double> keys_per_second);

}  // namespace unecho::sizing
