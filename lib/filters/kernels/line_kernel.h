// SPDX-License-Identifier: BSD-3-Clause
// The interface of a line filter kernel. Plain data, so that translation units of different
// instruction sets share no code that a compiler could emit in each of them.
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

// The state that all lines of one phase share.
struct alignas(64) LinePhase {
    std::uint64_t tags[kLineWords];  // the tag of each word that is not stale, in place
    std::uint32_t youngest;          // number of the present generation's word
    std::uint32_t no_run;  // k = 2: bit of the word whose predecessor is not one age older
};

struct LineView {
    std::uint64_t* lines;           // kLineWords each
    const std::uint64_t* patterns;  // kLinePatterns of them
    const float* coverage;          // by bits set in a word: chance that it covers a random pattern
    const LinePhase* phases;
    std::uint32_t line_count;
    std::uint32_t lines_a_phase;
    std::uint32_t phase_bits;  // line i has phase i mod 2^phase_bits
    bool refresh;
};

// The places of a burst's digests, for any kernel of the same k and M, valid for the filter's life.
struct alignas(64) LinePlaces {
    std::uint64_t word[kMaxLinesOfKey][kMaxLineDigests];  // number of the line's first word
    std::uint64_t pattern[kMaxLinesOfKey][kMaxLineDigests * kMaxYoungest];  // k for each digest
    std::uint64_t phase[kMaxLineDigests];
};

// A burst of n digests, 1 to 64, with their places.
struct LineBurst {
    const LinePlaces* places;
    unsigned n;
    unsigned requested;  // digests, from the first on, whose lines were prefetched
    // The following burst or null. Its lines from next_requested on are prefetched meanwhile.
    const LinePlaces* next;
    unsigned next_requested;
    unsigned next_n;
    bool matches_expected;  // affects speed only
};

// changes: insertions that set a bit of a youngest word.
struct LineAnswers {
    std::uint64_t echoes;
    std::uint64_t doubts;
    std::uint64_t changes;
    unsigned next_requested;  // new value of LineBurst::next_requested
};

struct LineProbe {
    bool match;
    float chance;
};

struct LineKernel {
    void (*find)(const LineView& view, const std::uint64_t* digests, unsigned n,
                 LinePlaces& places) noexcept;
    // Answer in order, as bits. No match is a doubt.
    LineAnswers (*test)(const LineView& view, const LineBurst& burst) noexcept;
    // limits[i * stride] belongs to digest i.
    LineAnswers (*judge)(const LineView& view, const LineBurst& burst, const float* limits,
                         unsigned stride) noexcept;
    // The query and the insertion of a single digest.
    LineProbe (*probe)(const LineView& view, std::uint64_t digest) noexcept;
    bool (*insert)(const LineView& view,
                   std::uint64_t digest) noexcept;  // returns true if it changes a youngest word
};

struct LineKernels {
    LineKernel of[kMaxYoungest][kMaxLinesOfKey];  // by k - 1 and M - 1
};

extern const LineKernels kLineScalar;
extern const LineKernels kLineAvx2;
extern const LineKernels kLineAvx512;

}  // namespace unecho::filter
