// SPDX-License-Identifier: BSD-3-Clause
// The interface of an APBBF kernel, for blocks of 512 bits with 8 bits per digest. Plain data, so
// that translation units of different instruction sets share no code.
//
// kernels/apbbf_scalar.cpp is the specification; every other kernel gives the same bits.
#pragma once

#include <cstdint>

namespace unecho::filter {

inline constexpr unsigned kBlockWords = 8;
inline constexpr unsigned kMaxProbes = 128;  // at most every slot

// A slot that a new digest queries or that an insertion writes.
struct ApbbfProbe {
    std::uint64_t* blocks;  // kBlockWords each
    std::uint64_t salt;     // added to a digest before it is mixed
    std::uint32_t slot;
};

// Counts of the insertions since the filter last took the tally.
struct ApbbfTally {
    std::uint64_t insertions;
    std::uint64_t changes[kMaxProbes];  // by written probe: insertions that set a bit
};

// The state that a burst's digests share, and the functions that a kernel leaves to the filter.
struct ApbbfView {
    ApbbfProbe probes[kMaxProbes];  // the k written slots, among them first the queried one if any;
                                    // then the other queried slots, the oldest last
    std::uint32_t k;
    std::uint32_t count;
    std::uint32_t block_count;  // in a segment
    bool refresh;
    ApbbfTally* tally;

    void* filter;
    // Prefetch the blocks that a search from this slot may read.
    void (*approach)(void* filter, std::uint64_t digest, unsigned slot) noexcept;
    // Return true if k consecutive slots match; starts at the oldest queried slot that matches.
    bool (*search)(void* filter, std::uint64_t digest, unsigned slot) noexcept;
    // Return true if a match is a doubt under this limit. Empties the tally.
    bool (*doubted)(void* filter, ApbbfTally& tally, const ApbbfView& view, float limit) noexcept;
};

struct ApbbfAnswers {
    std::uint64_t echoes;
    std::uint64_t doubts;
};

struct ApbbfKernel {
    // Answer n digests, 1 to 64, in order; bit i belongs to digest i.
    std::uint64_t (*test)(const ApbbfView& view, const std::uint64_t* digests, unsigned n) noexcept;
    // limits[i * stride] belongs to digest i.
    ApbbfAnswers (*judge)(const ApbbfView& view, const std::uint64_t* digests, unsigned n,
                          const float* limits, unsigned stride) noexcept;
};

struct ApbbfKernels {
    static constexpr unsigned kOwn = 3;  // greatest k with its own kernel

    ApbbfKernel of[kOwn + 1];  // by k; 0: any k
};

extern const ApbbfKernels kApbbfScalar;
extern const ApbbfKernels kApbbfAvx2;
extern const ApbbfKernels kApbbfAvx512;

}  // namespace unecho::filter
