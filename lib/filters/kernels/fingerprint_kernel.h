// SPDX-License-Identifier: BSD-3-Clause
// The layout of a line of fingerprints, and the interface of its kernels: plain data, as in
// line_kernel.h. kernels/fingerprint_scalar.cpp is the specification; every kernel gives its bits.
//
// A line is a shift register. Slot 0 is the newest fingerprint; an insertion moves all of them up
// by one slot, and the oldest falls out. Fingerprints are stored by bytes: byte 0 of all slots,
// then byte 1, and so on. Moving them up therefore moves the line's bytes up by one, and one
// 64-byte comparison compares them all. Bits beyond whole bytes are planes, one bit a slot.
//
// The header is at the end. c[j] counts the slots of the youngest j + 1 generations, 5 bits each,
// the oldest on top. Below them is a stamp: the generation of the last write, modulo 256. A line
// with a stamp d generations ago has no fingerprints of the youngest d. Its counts move up by d,
// which is a shift; counts that fall out at the top are forgotten. Ages thus cost 43 to 63 bits a
// line for any number of slots, and nothing is cleared.
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
    // Positions in the last eight bytes of a line, in bits.
    static constexpr unsigned kCountsAt = 64 - kCountBits * kCounts;
    static constexpr unsigned kStampAt = kCountsAt - 8;
    static constexpr unsigned kLiveAt = 64 - kCountBits;  // the oldest count: all live slots
    static constexpr std::uint64_t kCountsMask = ~std::uint64_t{0} << kCountsAt;
    static constexpr unsigned kCountMask = (1U << kCountBits) - 1;
    // A one in each count.
    static constexpr std::uint64_t kOnes = [] {
        std::uint64_t ones = 0;
        for (unsigned j = 0; j < kCounts; ++j) {
            ones |= std::uint64_t{1} << (kCountsAt + kCountBits * j);
        }
        return ones;
    }();

    // Planes come first, the counts at the end. In bytes.
    static constexpr unsigned kHeaderAt = slots * bytes;
    static constexpr std::uint64_t kPlanesMask = (std::uint64_t{1} << planes * slots) - 1;

    static_assert(slots < kCountMask && planes * slots < 64);
    static_assert(kHeaderAt >= 48 && 8 * kHeaderAt + planes * slots <= 448 + kStampAt);
    static_assert(8 * kHeaderAt >= 448 || planes != 0);
};

// A key is compared with at most the fingerprints of two full lines. By accident one of them is
// equal with a chance of at most 8.9e-4, 2.3e-6, 5.4e-7 and 6.5e-9.
using Fingerprint16 = FingerprintLayout<2, 0, 29, 8>;
using Fingerprint24 = FingerprintLayout<3, 0, 19, 9>;
using Fingerprint26 = FingerprintLayout<3, 2, 18, 7>;
using Fingerprint32 = FingerprintLayout<4, 0, 14, 11>;
inline constexpr unsigned kFingerprintLayouts = 4;

inline constexpr unsigned kFingerprintLine = 64;
inline constexpr unsigned kMaxFingerprintDigests = 64;

// In memory that may outlive the process, like the journal.
struct FingerprintTime {
    std::uint64_t generation;   // the caller's
    std::uint64_t lost_before;  // nothing inserted in this or a later generation was lost
};

// For kernels that write a line with several instructions: the new contents of the line written
// last, stored before the line itself is changed. A successor of a process killed within a write
// can thus complete the line. Empty between bursts.
struct alignas(64) FingerprintJournal {
    std::byte lines[2][kFingerprintLine];
    std::uint64_t last;  // 0: none; else 2 * (line number + 1) + the index of its entry in lines
};

struct FingerprintView {
    std::byte* lines;
    std::uint32_t half;        // each digest has a line in either half
    std::uint32_t generation;  // modulo 256
    bool refresh;
    FingerprintTime* time;
    FingerprintJournal* journal;
};

// The lines of a burst's digests, for any kernel of the same layout, valid for the filter's life.
struct alignas(64) FingerprintPlaces {
    std::uint64_t at[2][kMaxFingerprintDigests];  // byte offsets of the lines
    std::uint32_t fingerprint[kMaxFingerprintDigests];
};

// A burst of n digests, 1 to 64, with their places; the fields are those of LineBurst.
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
    std::uint64_t inserted = 0;
    std::uint64_t lost = 0;  // insertions that evicted a line's oldest fingerprint
    unsigned next_requested = 0;
};

struct FingerprintProbe {
    bool match;
    float chance;
};

struct FingerprintKernel {
    void (*find)(const FingerprintView& view, const std::uint64_t* digests, unsigned n,
                 FingerprintPlaces& places) noexcept;
    // Answer in order, as bits. No match is a doubt.
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
