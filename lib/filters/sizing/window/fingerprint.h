// SPDX-License-Identifier: BSD-3-Clause
// Sizing of the fingerprint filter (filters/window/fingerprint.h). A key has two cache lines of
// fingerprints. One of them keeps the key's fingerprint and age, for the generation of its arrival
// and l more. Pure functions.
//
// A fingerprint equals one of n others by accident with a probability of at most n 2^-bits, and n
// is at most two full lines. So the false-drop bound alone determines the bits, whatever the load.
// The number of lines follows from losses: an insertion that finds both of its lines full moves one
// of their fingerprints to its other line. If all of these are full too, the oldest fingerprint is
// lost.
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
    // Keys of the window in a line, on average. At this load an insertion loses a fingerprint with
    // a probability below 1e-29 (fingerprint_loss()). Even if the formula is too low by a factor of
    // a million, the largest possible table, of 1.7e10 keys, loses one in a window with a
    // probability below 1e-12. More would fit. At this load few insertions, one in 90 to 170, move
    // a fingerprint (fingerprint_moves()), which costs time.
    double keys_of_line;
};
inline constexpr std::array<FingerprintShape, 7> kFingerprintShapes{{{13, 35, 13, 31.2},
                                                                     {16, 29, 10, 25.2},
                                                                     {19, 24, 23, 21.3},
                                                                     {23, 20, 23, 17.4},
                                                                     {24, 19, 28, 16.5},
                                                                     {26, 18, 17, 15.3},
                                                                     {32, 14, 41, 11.6}}};

// State in addition to the lines (filters/window/fingerprint.h: table_bytes()).
inline constexpr std::uint64_t kFingerprintTableBytes = 320;

inline constexpr std::uint64_t kMaxFingerprintLines = std::uint64_t{1} << 29;
// Smaller tables have losses that the formula, for a table without end, does not contain. At the
// load above, simulated tables of 4 lines lose up to one key in 5,000, tables of 8 lines none in
// two to five million. 64 times as many lines are beyond what simulation can tell.
inline constexpr std::uint64_t kMinFingerprintLines = 512;

// --- The formulas ---

// Return the greatest probability of an accident, with two full lines.
double fingerprint_most_chance(const FingerprintShape& form);

// Return the probability that an insertion finds both of its lines full, as a mean over a
// generation. A line has keys_of_line keys of the window on average.
//
// By the mean field, in which lines are independent. Let g be the keys of a generation in a line.
// Between two turns, a line with x live keys gets another at the rate 2 g P(other >= x) in the
// first half, and at 2 g P(first > x) in the second half. A key that moves goes to any line of the
// second half that is not full, or to one of the first half if all are. At a turn, each live key
// belongs to the oldest of the l + 1 generations with probability 1 / (l + 1), independently.
double fingerprint_moves(const FingerprintShape& form, double keys_of_line);

// Return the probability that an insertion loses a fingerprint: it finds both lines full, and the
// other lines of all of their fingerprints.
//
// Such a line is full more often than any other, as it was the fuller of two when the fingerprint
// was inserted. Since then the two lines changed independently. So the probability
// follows from the mean field at that time and since, for each age of a fingerprint. The oldest
// forget it: for these it is nearly that of any line. Simulated losses from 1e-3 down to 1e-8 are
// those of the formula at a load that differs by less than 1 %.
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
