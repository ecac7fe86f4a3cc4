// SPDX-License-Identifier: BSD-3-Clause
// Holds a line in one register.
#include <cstdint>

#include <immintrin.h>

#include "filters/kernels/fingerprint_kernel.h"

namespace unecho::filter {
namespace {

// Every processor with AVX-512 has a fast PDEP.
inline unsigned nth_zero(const FingerprintView& /*view*/, std::uint64_t bits, unsigned n) noexcept {
    return static_cast<unsigned>(__builtin_ctzll(_pdep_u64(std::uint64_t{1} << n, ~bits)));
}

}  // namespace
}  // namespace unecho::filter

#include "filters/kernels/fingerprint_body-inl.h"

namespace unecho::filter {
namespace {

// The number of the fingerprint byte that each byte of a line stores.
template <typename L>
struct alignas(64) ByteOf {
    std::uint8_t of[kFingerprintLine];
    constexpr ByteOf() noexcept : of{} {
        for (unsigned i = 0; i < kFingerprintLine; ++i) {
            of[i] = static_cast<std::uint8_t>(i / L::kSlots % 4);
        }
    }
};

struct Avx512Line {
    using Pattern = __m512i;
    using Line = __m512i;
    static constexpr bool kStoresAtOnce = true;

    // A line in which every slot has this fingerprint.
    template <typename L>
    static Pattern pattern(std::uint32_t fingerprint) noexcept {
        static constexpr ByteOf<L> kBytes;
        const __m512i bytes = _mm512_shuffle_epi8(_mm512_set1_epi32(static_cast<int>(fingerprint)),
                                                  _mm512_load_si512(kBytes.of));
        if constexpr (L::kPlanes == 0) {
            return bytes;
        }
        const __m512i planes = _mm512_broadcast_i64x4(
            _mm256_load_si256(reinterpret_cast<const __m256i*>(planes_of<L>(fingerprint))));
        return select(_mm512_load_si512(kLineBits<L>.planes), planes, bytes);
    }

    template <typename L>
    static std::uint64_t equal(const std::byte* line, Pattern pattern) noexcept {
        const std::uint64_t same = _mm512_cmpeq_epi8_mask(_mm512_load_si512(line), pattern);
        std::uint64_t slots = same;
        for (unsigned b = 1; b < L::kBytes; ++b) {
            slots &= same >> L::kSlots * b;
        }
        return slots;
    }

    template <typename L>
    static Line longer(const std::byte* from, Pattern pattern, std::uint64_t header) noexcept {
        const __m512i line = _mm512_load_si512(from);
        // Byte i becomes byte i + 1. The last byte of each 16 comes from the 16 below.
        __m512i moved = _mm512_alignr_epi8(line, _mm512_alignr_epi64(line, line, 6), 15);
        if constexpr (L::kPlanes != 0) {
            // Bit i becomes bit i + 1. The last bit of each word comes from the word below.
            const __m512i below = _mm512_alignr_epi64(line, line, 7);
            const __m512i bits =
                _mm512_or_si512(_mm512_slli_epi64(line, 1), _mm512_srli_epi64(below, 63));
            moved = select(_mm512_load_si512(kLineBits<L>.planes), bits, moved);
        }
        const __m512i with = select(_mm512_load_si512(kLineBits<L>.newest), pattern, moved);
        // The header's word has bits of planes below.
        const __m512i end =
            _mm512_mask_set1_epi64(_mm512_setzero_si512(), 0x80, static_cast<long long>(header));
        const __m512i place = _mm512_maskz_set1_epi64(0x80, static_cast<long long>(L::kHeaderMask));
        return select(place, end, with);
    }

    static Line load(const std::byte* from) noexcept { return _mm512_load_si512(from); }
    static void store(std::byte* to, Line line) noexcept { _mm512_store_si512(to, line); }

  private:
    // Return the bits of `taken` where the mask has ones, and of `other` elsewhere.
    static __m512i select(__m512i mask, __m512i taken, __m512i other) noexcept {
        return _mm512_ternarylogic_epi64(mask, taken, other, 0xCA);
    }
};

}  // namespace

constexpr FingerprintKernels kFingerprintAvx512 = fingerprint_kernels<Avx512Line>();

}  // namespace unecho::filter
