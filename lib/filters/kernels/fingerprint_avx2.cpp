// SPDX-License-Identifier: BSD-3-Clause
// Holds a line in two registers.
#include <immintrin.h>

#include "filters/kernels/fingerprint_body-inl.h"
#include "filters/kernels/fingerprint_kernel.h"
#include "filters/kernels/nth_zero-inl.h"

namespace unecho::filter {
namespace {

inline unsigned nth_zero(const FingerprintView& view, std::uint64_t bits, unsigned n) noexcept {
    return view.fast_pdep
               ? static_cast<unsigned>(__builtin_ctzll(_pdep_u64(std::uint64_t{1} << n, ~bits)))
               : nth_zero_by_bytes(bits, n);
}

// The number of the fingerprint byte that each byte of a line stores.
template <typename L>
struct alignas(32) ByteOf {
    std::uint8_t of[kFingerprintLine];
    constexpr ByteOf() noexcept : of{} {
        for (unsigned i = 0; i < kFingerprintLine; ++i) {
            of[i] = static_cast<std::uint8_t>(i / L::kSlots % 4);
        }
    }
};

struct Avx2Line {
    struct Line {
        __m256i low;
        __m256i high;
    };
    using Pattern = Line;
    static constexpr bool kStoresAtOnce = false;

    // A line in which every slot has this fingerprint.
    template <typename L>
    static Pattern pattern(std::uint32_t fingerprint) noexcept {
        static constexpr ByteOf<L> kBytes;
        const __m256i all = _mm256_set1_epi32(static_cast<int>(fingerprint));
        const __m256i low = _mm256_shuffle_epi8(all, of(kBytes.of));
        const __m256i high = _mm256_shuffle_epi8(all, of(kBytes.of + 32));
        if constexpr (L::kPlanes == 0) {
            return {low, high};
        }
        return {low, select(of(kLineBits<L>.planes + 4), of(planes_of<L>(fingerprint)), high)};
    }

    template <typename L>
    static std::uint64_t equal(const std::byte* line, Pattern pattern) noexcept {
        const std::uint64_t same =
            bits(_mm256_cmpeq_epi8(of(line), pattern.low)) |
            std::uint64_t{bits(_mm256_cmpeq_epi8(of(line + 32), pattern.high))} << 32;
        std::uint64_t slots = same;
        for (unsigned b = 1; b < L::kBytes; ++b) {
            slots &= same >> L::kSlots * b;
        }
        return slots;
    }

    template <typename L>
    static Line longer(const std::byte* from, Pattern pattern, std::uint64_t header) noexcept {
        const __m256i low = of(from);
        const __m256i high = of(from + 32);
        const __m256i middle = _mm256_permute2x128_si256(low, high, 0x21);
        // Byte i becomes byte i + 1. The last byte of each 16 comes from the 16 below.
        const __m256i moved_low =
            _mm256_alignr_epi8(low, _mm256_permute2x128_si256(low, low, 0x08), 15);
        __m256i moved_high = _mm256_alignr_epi8(high, middle, 15);
        if constexpr (L::kPlanes != 0) {
            // Bit i becomes bit i + 1. The last bit of each word comes from the word below.
            const __m256i below = _mm256_alignr_epi8(high, middle, 8);
            const __m256i bits =
                _mm256_or_si256(_mm256_slli_epi64(high, 1), _mm256_srli_epi64(below, 63));
            moved_high = select(of(kLineBits<L>.planes + 4), bits, moved_high);
        }
        const __m256i with_low = select(of(kLineBits<L>.newest), pattern.low, moved_low);
        const __m256i with_high = select(of(kLineBits<L>.newest + 4), pattern.high, moved_high);
        // The header's word has bits of planes below.
        const __m256i end = _mm256_set_epi64x(static_cast<long long>(header), 0, 0, 0);
        const __m256i place = _mm256_set_epi64x(static_cast<long long>(L::kHeaderMask), 0, 0, 0);
        return {with_low, select(place, end, with_high)};
    }

    static Line load(const std::byte* from) noexcept { return {of(from), of(from + 32)}; }
    static void store(std::byte* to, Line line) noexcept {
        _mm256_store_si256(reinterpret_cast<__m256i*>(to), line.low);
        _mm256_store_si256(reinterpret_cast<__m256i*>(to + 32), line.high);
    }

  private:
    // Return the bits of `taken` where the mask has ones, and of `other` elsewhere.
    static __m256i select(__m256i mask, __m256i taken, __m256i other) noexcept {
        return _mm256_or_si256(_mm256_and_si256(mask, taken), _mm256_andnot_si256(mask, other));
    }
    static __m256i of(const void* at) noexcept {
        return _mm256_load_si256(static_cast<const __m256i*>(at));
    }
    static std::uint32_t bits(__m256i bytes) noexcept {
        return static_cast<std::uint32_t>(_mm256_movemask_epi8(bytes));
    }
};

}  // namespace

constexpr FingerprintKernels kFingerprintAvx2 = fingerprint_kernels<Avx2Line>();

}  // namespace unecho::filter
