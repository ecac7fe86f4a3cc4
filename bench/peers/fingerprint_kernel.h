// SPDX-License-Identifier: BSD-3-Clause
// A line of fingerprints, and what a kernel does with a burst of digests. Plain data, as
// filter/kernels/line_kernel.h; fingerprint_scalar.cpp is the specification.
//
// A line is a shift register: slot 0 is the newest fingerprint, and an insertion moves all of them
// up by one, so that the oldest falls out first. Fingerprints are stored by bytes, first byte 0 of
// all slots, then byte 1; moving them up is moving the line's bytes up by one, and one comparison
// of 64 bytes compares them all. Bits beyond whole bytes are planes, a bit a slot. At the end are
// counts: c[j] slots are of the youngest j + 1 generations, 5 bits each, the oldest on top; and
// below them a stamp, the generation in which the line was written last, modulo 256. A line whose
// stamp is d generations old has no fingerprints of the youngest d: its counts move up by d, which
// is a shift, and what falls out at the top is forgotten. So ages cost 48 bits a line, however many
// slots it has, and nothing is cleared.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace unecho::bench {

template <unsigned bytes, unsigned planes, unsigned slots, unsigned generations>
struct FingerprintLayout {
    static constexpr unsigned kBytes = bytes;
    static constexpr unsigned kPlanes = planes;
    static constexpr unsigned kSlots = slots;
    static constexpr unsigned kCounts = generations;  // l + 1
    static constexpr unsigned kBits = 8 * bytes + planes;

    static constexpr unsigned kCountBits = 5;
    // In the last eight bytes of a line.
    static constexpr unsigned kCountsAt = 64 - kCountBits * kCounts;
    static constexpr unsigned kStampAt = kCountsAt - 8;
    static constexpr unsigned kLiveAt = 64 - kCountBits;  // the oldest count: of all that is live
    static constexpr std::uint64_t kCountsMask = ~std::uint64_t{0} << kCountsAt;
    static constexpr unsigned kCountMask = (1U << kCountBits) - 1;
    // One in each count.
    static constexpr std::uint64_t kOnes = [] {
        std::uint64_t ones = 0;
        for (unsigned j = 0; j < kCounts; ++j) {
            ones |= std::uint64_t{1} << (kCountsAt + kCountBits * j);
        }
        return ones;
    }();

    // Planes, and at the end the counts.
    static constexpr unsigned kHeaderAt = slots * bytes;
    static constexpr std::uint64_t kPlanesMask = (std::uint64_t{1} << planes * slots) - 1;

    static_assert(slots <= kCountMask);
    static_assert(kHeaderAt >= 48 && 8 * kHeaderAt + planes * slots <= 448 + kStampAt);
    static_assert(8 * kHeaderAt >= 448 || planes != 0);
};

// 16 bits: 58 fingerprints compared are a chance of 8.9e-4 at most.
using Fingerprint16 = FingerprintLayout<2, 0, 29, 8>;
// 26 bits: 36 compared, 5.4e-7 at most.
using Fingerprint26 = FingerprintLayout<3, 2, 18, 7>;
inline constexpr unsigned kFingerprintLayouts = 2;

inline constexpr unsigned kFingerprintLine = 64;
inline constexpr unsigned kMostFingerprintDigests = 64;

struct FingerprintView {
    std::byte* lines;
    std::uint32_t half;        // a digest has a line in the first half, and one in the second
    std::uint32_t generation;  // modulo 256
    bool refresh;
};

// Holds for the filter's whole life.
struct alignas(64) FingerprintPlaces {
    std::uint64_t at[2][kMostFingerprintDigests];  // of the lines' first bytes
    std::uint32_t fingerprint[kMostFingerprintDigests];
};

struct FingerprintAnswers {
    std::uint64_t echoes = 0;
    std::uint64_t doubts = 0;
    std::uint64_t inserted = 0;    // fingerprints
    std::uint64_t lost = 0;        // of them with both lines full: each cost the oldest of one
    unsigned youngest_lost = ~0U;  // age of the youngest so lost, in generations
};

// For one layout.
struct FingerprintKernel {
    void (*find)(const FingerprintView& view, const std::uint64_t* digests, unsigned n,
                 FingerprintPlaces& places) noexcept;
    // In order; n is 1 to 64.
    FingerprintAnswers (*test)(const FingerprintView& view, const FingerprintPlaces& places,
                               unsigned n) noexcept;
    // limits[i * stride] belongs to digest i.
    FingerprintAnswers (*judge)(const FingerprintView& view, const FingerprintPlaces& places,
                                unsigned n, const float* limits, unsigned stride) noexcept;
    float (*chance)(const FingerprintView& view, std::uint64_t digest) noexcept;
};

using FingerprintKernels = std::array<FingerprintKernel, kFingerprintLayouts>;
extern const FingerprintKernels kFingerprintScalar;
extern const FingerprintKernels kFingerprintAvx2;
extern const FingerprintKernels kFingerprintAvx512;

}  // namespace unecho::bench
