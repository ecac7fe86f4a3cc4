// SPDX-License-Identifier: BSD-3-Clause
// A line of fingerprints, what a kernel of that filter works on and what it is: plain data, as
// line_kernel.h. kernels/fingerprint_scalar.cpp is the specification; every other kernel gives the
// same bits.
//
// A line is a shift register: slot 0 is the newest fingerprint, and an insertion moves all of them
// up by one, so that the oldest falls out first. Fingerprints are stored by bytes, first byte 0 of
// all slots, then byte 1; moving them up is moving the line's bytes up by one, and one comparison
// of 64 bytes compares them all. Bits beyond whole bytes are planes, a bit a slot. At the end are
// counts: c[j] slots are of the youngest j + 1 generations, 5 bits each, the oldest on top; and
// below them a stamp, the generation in which the line was written last, modulo 256. A line whose
// stamp is d generations old has no fingerprints of the youngest d: its counts move up by d, which
// is a shift, and what falls out at the top is forgotten. So ages cost 43 to 63 bits a line,
// however many slots it has, and nothing is cleared.
#pragma once

#include <cstddef>
#include <cstdint>

namespace unecho::filter {

template <unsigned bytes, unsigned planes, unsigned slots, unsigned generations>
struct FingerprintLayout {
    static constexpr unsigned kBytes = bytes;
    static constexpr unsigned kPlanes = planes;
    static constexpr unsigned kSlots = slots;
    static constexpr unsigned kCounts = generations;  // l + 1
    static constexpr unsigned kBits = 8 * bytes + planes;
    static constexpr std::uint64_t kFingerprintMask = (std::uint64_t{1} << kBits) - 1;

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

    static_assert(slots < kCountMask && planes * slots < 64);
    static_assert(kHeaderAt >= 48 && 8 * kHeaderAt + planes * slots <= 448 + kStampAt);
    static_assert(8 * kHeaderAt >= 448 || planes != 0);
};

// The most fingerprints that a key is compared with are those of two full lines: by accident one of
// them is the same with a chance of 8.9e-4, 2.3e-6, 5.4e-7 and 6.5e-9 at most.
using Fingerprint16 = FingerprintLayout<2, 0, 29, 8>;
using Fingerprint24 = FingerprintLayout<3, 0, 19, 9>;
using Fingerprint26 = FingerprintLayout<3, 2, 18, 7>;
using Fingerprint32 = FingerprintLayout<4, 0, 14, 11>;
inline constexpr unsigned kFingerprintLayouts = 4;

inline constexpr unsigned kFingerprintLine = 64;
inline constexpr unsigned kMaxFingerprintDigests = 64;

// In memory that may outlive the process, as what follows.
struct FingerprintTime {
    std::uint64_t generation;   // the caller's
    std::uint64_t lost_before;  // nothing inserted in this generation or later gave way to others
};

// Of kernels that write a line with several instructions: the line written last, as it is to be,
// before any of it is written. So who goes on with the memory of a process that was killed amid a
// line can write it whole. Empty between two bursts.
struct alignas(64) FingerprintJournal {
    std::byte lines[2][kFingerprintLine];
    std::uint64_t last;  // 0: none; else twice its number and 2, and which of the two has it
};

struct FingerprintView {
    std::byte* lines;
    std::uint32_t half;        // a digest has a line in the first half, and one in the second
    std::uint32_t generation;  // modulo 256
    bool refresh;
    FingerprintTime* time;
    FingerprintJournal* journal;
};

// Where the digests of a burst have their lines; any kernel of the same layout reads them. They
// hold for the filter's whole life.
struct alignas(64) FingerprintPlaces {
    std::uint64_t at[2][kMaxFingerprintDigests];  // of the lines' first bytes
    std::uint32_t fingerprint[kMaxFingerprintDigests];
};

// A burst of n digests, 1 to 64, that have places; as LineBurst.
struct FingerprintBurst {
    const FingerprintPlaces* places;
    unsigned n;
    unsigned requested;
    const FingerprintPlaces* next;
    unsigned next_requested;
    unsigned next_n;
};

struct FingerprintAnswers {
    std::uint64_t echoes = 0;
    std::uint64_t doubts = 0;
    std::uint64_t inserted = 0;  // fingerprints
    std::uint64_t lost = 0;      // of them with both lines full: each cost the oldest of one
    unsigned next_requested = 0;
};

struct FingerprintProbe {
    bool match;
    float chance;
};

// For one layout.
struct FingerprintKernel {
    void (*find)(const FingerprintView& view, const std::uint64_t* digests, unsigned n,
                 FingerprintPlaces& places) noexcept;
    // In order; answers as bits. No match is a doubt.
    FingerprintAnswers (*test)(const FingerprintView& view, const FingerprintBurst& burst) noexcept;
    // limits[i * stride] belongs to digest i.
    FingerprintAnswers (*judge)(const FingerprintView& view, const FingerprintBurst& burst,
                                const float* limits, unsigned stride) noexcept;
    FingerprintProbe (*probe)(const FingerprintView& view, std::uint64_t digest) noexcept;
};

struct FingerprintKernels {
    FingerprintKernel of[kFingerprintLayouts];
};

extern const FingerprintKernels kFingerprintScalar;
extern const FingerprintKernels kFingerprintAvx2;
extern const FingerprintKernels kFingerprintAvx512;

}  // namespace unecho::filter
