// SPDX-License-Identifier: BSD-3-Clause
// Sizing of the line filter (filters/window/line.h). A key has M cache lines, each with words of 62
// bits, one for each of the k + l generations (ages). A key sets b distinct bits in the words of
// the k youngest ages of its lines. An age matches if its words match in all M lines, and k
// consecutive matching ages are an echo. Pure functions.
//
// Lines shift in phases. Line i belongs to phase i mod P of P phases. They shift one after the
// other during a generation, and a key's M lines, all different, are of one phase. The generation
// that the control thread publishes is here a tick, the P-th part of a generation: window / (l P).
// Just before a tick, the worst moment, the current generation of phase s is (s + 1) / P complete.
//
// The words of a line have correlated loads, because they share the line and their generations
// overlap. So the means of fpr.h, which assume segments that hash independently, do not apply.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "base/units.h"
#include "filters/sizing/sizing.h"

namespace unecho::sizing {

// Pattern bits of a word; two more bits hold its age.
inline constexpr unsigned kLineWordBits = 62;
inline constexpr unsigned kLineWords = 8;  // k + l

inline constexpr unsigned kMaxLinesOfKey = 4;
inline constexpr unsigned kMaxBitsOfKey = 16;
inline constexpr std::uint64_t kMaxLines = (std::uint64_t{1} << 28) - 1;

// State, patterns, chances and phases; lines excluded (filters/window/line.h: table_bytes()).
inline constexpr std::uint64_t kLineTableBytes = 11'584;

// Use the most phases if a tick is at least this long. Eight phases need 1 to 3 % less memory than
// one; sixteen would save at most another 0.2 %.
inline constexpr unsigned kMaxPhases = 8;
inline constexpr Nanoseconds kLongTick = kMillisecond;
// Otherwise use at most half as many, so that a tick is at least this long if possible.
inline constexpr Nanoseconds kShortTick = 100 * kMicrosecond;
// Least lines of a phase: the load of a smaller one varies for all its lines alike. Eight phases of
// 512 lines have 1 % (M = 3) to 4 % (M = 4) more false drops than predicted; of this size, 1 %.
inline constexpr std::uint64_t kMinLinesOfPhase = 2048;

// --- The formulas ---

// Parameters of the match probability, for words of S bits and any l.
struct LineShape {
    unsigned M = 1;  // lines of a key
    unsigned k = 1;  // 1 or 2
    unsigned l = 7;
    unsigned b = 1;       // distinct bits of a pattern
    unsigned phases = 1;  // 1: all lines shift at once
    unsigned S = kLineWordBits;
};

// Return the probability that n random patterns of b distinct bits among S cover another one.
double line_match(unsigned S, unsigned b, unsigned n);

// Return the probability, just before a tick, that a key never inserted is taken for an echo. A
// line has gamma keys of a generation on average (Poisson). Exact, except that loads with a
// probability below 1e-19 are left out, which is below 1e-15 of 1.
double line_fpr(const LineShape& shape, double gamma);

// Return the peak normalised probability-weighted slack: at a tick, the older keys that are still
// echoes, relative to the keys of the window. It counts the words that are left of them.
double line_npws(const LineShape& shape, double gamma);

// Return the memory for each key of the window, in bits, at that load, without tables.
double line_bits_per_key(const LineShape& shape, double gamma);

// --- Sizing ---

struct LineGeometry {
    unsigned M = 1;           // lines of a key: 1 to kMaxLinesOfKey
    unsigned k = 0;           // 1 or 2
    unsigned l = 0;           // kLineWords - k
    unsigned b = 0;           // 1 to kMaxBitsOfKey
    unsigned phases = 0;      // 1, 2, 4 or 8
    std::uint64_t lines = 0;  // of all phases, of equal size: at least M in each

    bool operator==(const LineGeometry&) const = default;
};

// Return the geometry that meets the targets with the least product of memory and the cube root of
// M. So a second line must save a fifth of the memory (1 - 2^-1/3), a third an eighth, a fourth an
// eleventh. Large tables get one line for a rate of 1e-2, two for 1e-3 to 1e-5, three for 1e-6. For
// that M, k = 1 is preferred if it needs at most 2 % more lines than k = 2: slack is 1/7 instead of
// 1/3, and a key takes a seventh less time in L2.
Result<LineGeometry> size_line(const Targets& targets);
// The same for a given M.
Result<LineGeometry> size_line_of(const Targets& targets, unsigned M);

// Complete a geometry with given M, k, b and lines for a window. Set l and phases if they are 0,
// and round lines up to whole phases. Return Errc::kInvalidArgument with what is allowed.
Result<LineGeometry> complete_line(const LineGeometry& given, Nanoseconds window);

// Its own capacity fills words of k generations to a half. Prediction::generation is a tick.
Prediction predict(const LineGeometry& geometry, Nanoseconds window,
                   std::optional<double> keys_per_second);

}  // namespace unecho::sizing
