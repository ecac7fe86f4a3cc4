// SPDX-License-Identifier: BSD-3-Clause
// The layout of a line of fingerprints, and the interface of its kernels: plain data, as in
// line_kernel.h. kernels/fingerprint_scalar.cpp is the specification; every kernel gives its bits.
//
// A line is a shift register. Slot 0 is the newest fingerprint; an insertion moves all of them up
// by one slot. Fingerprints are stored by bytes: byte 0 of all slots, then byte 1, and so on.
// Moving them up therefore moves the line's bytes up by one, and one 64-byte comparison compares
// them all. Bits beyond whole bytes are planes, one bit a slot, which move up by one bit.
//
// Ages are one word in unary, from the newest on: a one for each fingerprint, a zero for each end
// of a generation. Slot s is as many generations old as there are zeros below its one. A turn
// shifts a zero in, an insertion a one, and what is shifted out at the top is forgotten.
// Fingerprints below the (l + 1)th zero are live. They are at most `slots`, so slots + l + 1 bits
// hold all of them; an age of log2(l + 1) bits in each slot would take more. Below the ages is a
// stamp: the generation of the last write, modulo 256. A line with a stamp d generations ago lacks
// d zeros. Nothing is cleared.
//
//   byte 0                                              64 - 8
//   | byte 0 of each slot | byte 1 | ... | planes ...     | ... stamp (8) | ages (slots + l + 1) |
#pragma once

#include <cstddef>
#include <cstdint>

namespace unecho::filter {

inline constexpr unsigned kFingerprintLine = 64;
// Planes, stamp and ages are in the second half of a line: four words.
inline constexpr unsigned kTailAt = 32;
inline constexpr unsigned kTailWords = 4;

template <unsigned bytes, unsigned planes, unsigned slots, unsigned generations>
struct FingerprintLayout {
    static constexpr unsigned kBytes = bytes;
    static constexpr unsigned kPlanes = planes;
    static constexpr unsigned kSlots = slots;
    static constexpr unsigned kL = generations;  // full ones that a fingerprint outlives
    static constexpr unsigned kBits = 8 * bytes + planes;
    static constexpr std::uint64_t kFingerprintMask = (std::uint64_t{1} << kBits) - 1;

    // Positions in the last eight bytes of a line, in bits.
    static constexpr unsigned kAgesAt = 64 - (slots + kL + 1);
    static constexpr unsigned kStampAt = kAgesAt - 8;
    static constexpr std::uint64_t kNewestAge = std::uint64_t{1} << kAgesAt;
    static constexpr std::uint64_t kAgesMask = ~std::uint64_t{0} << kAgesAt;
    static constexpr std::uint64_t kHeaderMask = ~std::uint64_t{0} << kStampAt;

    // Slot s of plane p is bit kPlanesAt + slots * p + s of the four words.
    static constexpr unsigned kPlanesAt = 8 * (slots * bytes - kTailAt);

    static_assert(slots * bytes >= kTailAt && kStampAt < kAgesAt);
    static_assert(kPlanesAt + planes * slots <= 64 * (kTailWords - 1) + kStampAt);
};

// A key is compared with at most the fingerprints of two full lines. By accident one of them is
// equal with a chance of at most 8.6e-3, 8.9e-4, 9.2e-5, 4.8e-6, 2.3e-6, 5.4e-7 and 6.5e-9. Each
// fills all 512 bits of a line.
using Fingerprint13 = FingerprintLayout<1, 5, 35, 13>;
using Fingerprint16 = FingerprintLayout<2, 0, 29, 10>;
using Fingerprint19 = FingerprintLayout<2, 3, 24, 23>;
using Fingerprint23 = FingerprintLayout<2, 7, 20, 23>;
using Fingerprint24 = FingerprintLayout<3, 0, 19, 28>;
using Fingerprint26 = FingerprintLayout<3, 2, 18, 17>;
using Fingerprint32 = FingerprintLayout<4, 0, 14, 41>;
inline constexpr unsigned kFingerprintLayouts = 7;

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
    bool fast_pdep;  // has_fast_pdep()
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
