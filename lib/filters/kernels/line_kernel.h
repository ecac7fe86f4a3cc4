// SPDX-License-Identifier: BSD-3-Clause
// What a kernel of the line filter works on and what it is: plain data, so that translation units
// of different instruction sets share nothing that a compiler could emit in each of them.
//
// kernels/line_scalar.cpp is the specification; every other kernel gives the same bits.
#pragma once

#include <cstdint>

namespace unecho::filter {

inline constexpr unsigned kLineWords = 8;
inline constexpr unsigned kPatternBits = 62;
inline constexpr unsigned kMaxLinesOfKey = 4;    // M
inline constexpr unsigned kMaxYoungest = 2;      // k
inline constexpr unsigned kLinePatterns = 1024;  // before rotation
inline constexpr unsigned kMaxLineDigests = 64;
inline constexpr std::uint64_t kTagBits = std::uint64_t{3} << kPatternBits;

// What holds for all lines of one phase.
struct alignas(64) LinePhase {
    std::uint64_t tags[kLineWords];  // of a word that is not stale, in place
    std::uint32_t youngest;          // the number of the word of the present generation
    std::uint32_t no_run;  // k = 2: the word whose predecessor is not one age older, as a bit
};

struct LineView {
    std::uint64_t* lines;           // kLineWords each
    const std::uint64_t* patterns;  // kLinePatterns of them
    const float* coverage;  // by the bits set in a word: chance that a random pattern is covered
    const LinePhase* phases;
    std::uint32_t line_count;
    std::uint32_t lines_a_phase;
    std::uint32_t phase_bits;  // line number i is of phase i mod 2^phase_bits
    bool refresh;
};

// Where the digests of a burst have their bits, as a kernel finds them; any kernel of the same k
// and M reads them. They hold for the filter's whole life.
struct alignas(64) LinePlaces {
    std::uint64_t word[kMaxLinesOfKey][kMaxLineDigests];  // number of the line's first word
    std::uint64_t pattern[kMaxLinesOfKey][kMaxLineDigests * kMaxYoungest];  // k for each digest
    std::uint64_t phase[kMaxLineDigests];
};

// A burst of n digests, 1 to 64, that have places.
struct LineBurst {
    const LinePlaces* places;
    unsigned n;
    unsigned requested;  // of the first so many, memory was asked for the lines
    // The burst behind it, for whose lines memory is asked meanwhile, from number next_requested
    // on; null: none.
    const LinePlaces* next;
    unsigned next_requested;
    unsigned next_n;
    bool matches_expected;  // of speed alone
};

// changes: insertions that set a bit of a youngest word.
struct LineAnswers {
    std::uint64_t echoes;
    std::uint64_t doubts;
    std::uint64_t changes;
    unsigned next_requested;  // now
};

struct LineProbe {
    bool match;
    float chance;
};

// For one k and M.
struct LineKernel {
    void (*find)(const LineView& view, const std::uint64_t* digests, unsigned n,
                 LinePlaces& places) noexcept;
    // In order; answers as bits. No match is a doubt.
    LineAnswers (*test)(const LineView& view, const LineBurst& burst) noexcept;
    // limits[i * stride] belongs to digest i.
    LineAnswers (*judge)(const LineView& view, const LineBurst& burst, const float* limits,
                         unsigned stride) noexcept;
    // One digest, its halves.
    LineProbe (*probe)(const LineView& view, std::uint64_t digest) noexcept;
    bool (*insert)(const LineView& view, std::uint64_t digest) noexcept;  // changes
};

struct LineKernels {
    LineKernel of[kMaxYoungest][kMaxLinesOfKey];  // by k - 1 and M - 1
};

extern const LineKernels kLineScalar;
extern const LineKernels kLineAvx2;
extern const LineKernels kLineAvx512;

}  // namespace unecho::filter
