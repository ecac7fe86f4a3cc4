// SPDX-License-Identifier: BSD-3-Clause
// Holds a line in two registers.
#include <immintrin.h>

#include "filters/kernels/fingerprint_body-inl.h"

namespace unecho::filter {
namespace {

// Masks by the byte of a line. of: which byte of a fingerprint is stored there. newest: all ones in
// each slot 0. header: all ones in the header.
template <typename L>
struct alignas(32) LineBytes {
    std::uint8_t of[kFingerprintLine];
    std::uint8_t newest[kFingerprintLine];
    std::uint8_t header[kFingerprintLine];
    constexpr LineBytes() noexcept : of{}, newest{}, header{} {
        for (unsigned i = 0; i < kFingerprintLine; ++i) {
            of[i] = static_cast<std::uint8_t>(i / L::kSlots % 4);
            newest[i] = i < L::kHeaderAt && i % L::kSlots == 0 ? 0xFF : 0;
            header[i] = i >= L::kHeaderAt ? 0xFF : 0;
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

    template <typename L>
    static Pattern pattern(std::uint32_t fingerprint) noexcept {
        const __m256i all = _mm256_set1_epi32(static_cast<int>(fingerprint));
        return {_mm256_shuffle_epi8(all, of(kOf<L>.of)),
                _mm256_shuffle_epi8(all, of(kOf<L>.of + 32))};
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
    static Line longer(const std::byte* from, Pattern pattern, std::uint64_t planes,
                       std::uint64_t header) noexcept {
        const __m256i low = of(from);
        const __m256i high = of(from + 32);
        // Byte i becomes byte i + 1. The last byte of each 16 comes from the 16 below.
        const __m256i moved_low =
            _mm256_alignr_epi8(low, _mm256_permute2x128_si256(low, low, 0x08), 15);
        const __m256i moved_high =
            _mm256_alignr_epi8(high, _mm256_permute2x128_si256(low, high, 0x21), 15);
        const __m256i with_low = _mm256_blendv_epi8(moved_low, pattern.low, of(kOf<L>.newest));
        const __m256i with_high =
            _mm256_blendv_epi8(moved_high, pattern.high, of(kOf<L>.newest + 32));
        const __m256i last = end<L>(planes, header);
        return {with_low, _mm256_blendv_epi8(with_high, last, of(kOf<L>.header + 32))};
    }

    static Line load(const std::byte* from) noexcept { return {of(from), of(from + 32)}; }
    static void store(std::byte* to, Line line) noexcept {
        _mm256_store_si256(reinterpret_cast<__m256i*>(to), line.low);
        _mm256_store_si256(reinterpret_cast<__m256i*>(to + 32), line.high);
    }

  private:
    template <typename L>
    static constexpr LineBytes<L> kOf{};

    // Return the last 16 bytes of a line; those before the header are ignored.
    template <typename L>
    static __m256i end(std::uint64_t planes, std::uint64_t header) noexcept {
        const auto last = static_cast<long long>(header);
        if constexpr (L::kPlanes == 0) {
            return _mm256_set1_epi64x(last);
        } else {
            const auto before = static_cast<long long>(planes << 8 * (L::kHeaderAt - 48));
            return _mm256_set_epi64x(last, before, 0, 0);
        }
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
