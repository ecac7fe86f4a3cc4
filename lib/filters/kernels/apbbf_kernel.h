// SPDX-License-Identifier: BSD-3-Clause
// What a kernel of the APBBF works on and what it is, for blocks of 512 bits with 8 bits a digest:
// plain data, so that translation units of different instruction sets share nothing that a compiler
// could emit in each of them.
//
// kernels/apbbf_scalar.cpp is the specification; every other kernel gives the same bits.
#pragma once

#include <cstdint>

namespace unecho::filter {

inline constexpr unsigned kBlockWords = 8;
inline constexpr unsigned kMaxProbes = 128;  // at most every slot

// A slot that a new digest asks or that an insertion writes.
struct ApbbfProbe {
    std::uint64_t* blocks;  // kBlockWords each
    std::uint64_t salt;     // added to a digest before it is mixed
    std::uint32_t slot;
};

// By insertions since the last look.
struct ApbbfTally {
    std::uint64_t insertions;
    std::uint64_t changes[kMaxProbes];  // by written probe: insertions that set a bit of it
};

// What is the same for all digests of a burst, and what a kernel leaves to the filter.
struct ApbbfView {
    ApbbfProbe probes[kMaxProbes];  // the k written ones, of these first the asked one if there is
                                    // one; then the others that are asked, the oldest last
    std::uint32_t k;
    std::uint32_t count;
    std::uint32_t block_count;  // of a segment
    bool refresh;
    ApbbfTally* tally;

    void* filter;
    // Prefetches what a search from a slot on may look at.
    void (*approach)(void* filter, std::uint64_t digest, unsigned slot) noexcept;
    // Whether k slots in a row match, none of them beyond those that a match in this slot is in.
    bool (*search)(void* filter, std::uint64_t digest, unsigned slot) noexcept;
    // Whether a match is none with this limit; empties the tally.
    bool (*doubted)(void* filter, ApbbfTally& tally, const ApbbfView& view, float limit) noexcept;
};

struct ApbbfAnswers {
    std::uint64_t echoes;
    std::uint64_t doubts;
};

// For one k.
struct ApbbfKernel {
    // n digests, 1 to 64, in order; answers as bits.
    std::uint64_t (*test)(const ApbbfView& view, const std::uint64_t* digests, unsigned n) noexcept;
    // limits[i * stride] belongs to digest i.
    ApbbfAnswers (*judge)(const ApbbfView& view, const std::uint64_t* digests, unsigned n,
                          const float* limits, unsigned stride) noexcept;
};

struct ApbbfKernels {
    static constexpr unsigned kOwn = 3;  // greatest k with a kernel of its own

    ApbbfKernel of[kOwn + 1];  // by k; 0: any
};

extern const ApbbfKernels kApbbfScalar;
extern const ApbbfKernels kApbbfAvx2;
extern const ApbbfKernels kApbbfAvx512;

}  // namespace unecho::filter
