// SPDX-License-Identifier: BSD-3-Clause
// Targets <-> geometry for the line filter, in which a key has M cache lines and each of them holds
// all k + l generations: a word of 62 bits for each age. A key sets b distinct bits in the words of
// the k youngest ages of its lines; an age matches where its words match in all M lines, and k
// consecutive ages are an echo. Pure functions.
//
// Lines shift in phases: line i belongs to phase i mod S, the S phases shift one after the other in
// the course of a generation, and the M lines of a key, all different, are of one phase. The
// generation that the control thread publishes is here a tick, a generation's S-th part:
// window / (l S). Just before a tick, the worst moment, the lines of phase s have a current
// generation that is (s + 1) / S complete.
//
// The loads of the words of a line are correlated: they are of one line and of generations that
// overlap. So the means of fpr.h, which segments that hash independently allow, do not do.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "base/units.h"
#include "filters/sizing/sizing.h"

namespace unecho::sizing {

// Pattern bits of a word; two more tell its age.
inline constexpr unsigned kLineWordBits = 62;
inline constexpr unsigned kLineWords = 8;  // k + l

inline constexpr unsigned kMaxLinesOfKey = 4;
inline constexpr unsigned kMaxBitsOfKey = 16;
inline constexpr std::uint64_t kMaxLines = (std::uint64_t{1} << 28) - 1;

// State, patterns, chances and phases, next to the lines (filters/window/line.h: table_bytes()).
inline constexpr std::uint64_t kLineTableBytes = 11'584;

// As many phases as there may be, where a tick is as long as this. Eight need 1 to 3 % less memory
// than one; sixteen would save 0.2 % more at most.
inline constexpr unsigned kMaxPhases = 8;
inline constexpr Nanoseconds kLongTick = kMillisecond;
// Fewer where it is not, unless a single one has shorter generations than this.
inline constexpr Nanoseconds kShortTick = 100 * kMicrosecond;
// A phase of fewer lines is none: what falls into it varies for all its lines alike. Eight phases
// of 512 lines have 1 % (M = 3) to 4 % (M = 4) more false drops than predicted; of so many, 1 %.
inline constexpr std::uint64_t kMinLinesOfPhase = 2048;

// --- The formulas ---

// What the chance of a match depends on, with words of S bits and any l.
struct LineShape {
    unsigned M = 1;  // lines of a key
    unsigned k = 1;  // 1 or 2
    unsigned l = 7;
    unsigned b = 1;       // distinct bits of a pattern
    unsigned phases = 1;  // 1: all lines shift at once
    unsigned S = kLineWordBits;
};

// A random pattern of b distinct bits among S is covered by n such patterns.
double line_match(unsigned S, unsigned b, unsigned n);

// A key that was never inserted is taken for an echo, just before a tick, with gamma keys of a
// generation in a line on average (Poisson). Exact: loads of a chance below 1e-19 are left out,
// which is less than 1e-15 of the result's 1.
double line_fpr(const LineShape& shape, double gamma);

// Peak normalised probability-weighted slack: at a tick, relative to the keys of the window, those
// older that are still an echo, by the words of theirs that are left.
double line_npws(const LineShape& shape, double gamma);

// Memory for a key of the window at that load, without tables.
double line_bits_per_key(const LineShape& shape, double gamma);

// --- Sizing ---

struct LineGeometry {
    unsigned M = 1;           // lines of a key: 1 to kMaxLinesOfKey
    unsigned k = 0;           // 1 or 2
    unsigned l = 0;           // kLineWords - k
    unsigned b = 0;           // 1 to kMaxBitsOfKey
    unsigned phases = 0;      // 1, 2, 4 or 8
    std::uint64_t lines = 0;  // of all phases, of equal size: at least M each

    bool operator==(const LineGeometry&) const = default;
};

// The geometry that meets the targets, with the least product of lines of a key and the cube of the
// memory: a second line must save a fifth of the memory (1 - 2^-1/3), a third one an eighth, a
// fourth one an eleventh. In tables of many lines that is one line for a rate of 1e-2, two from
// 1e-3 to 1e-5, three for 1e-6.
Result<LineGeometry> size_line(const Targets& targets);
// For tests: with so many lines of a key, the least memory.
Result<LineGeometry> size_line_of(const Targets& targets, unsigned M);

// A geometry of which M, k, b and lines are given, for a window: l and phases are added where they
// are 0, and lines rounded up to whole phases. Errc::kInvalidArgument with what is allowed.
Result<LineGeometry> complete_line(const LineGeometry& given, Nanoseconds window);

// For a geometry as above and a window of 1 ns to kMaxWindow. keys_per_second absent: the planned
// rate is that which fills words of k generations to a half. The generation is a tick.
Prediction predict(const LineGeometry& geometry, Nanoseconds window,
                   std::optional<double> keys_per_second);

}  // namespace unecho::sizing
