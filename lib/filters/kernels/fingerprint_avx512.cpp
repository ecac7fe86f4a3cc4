// SPDX-License-Identifier: BSD-3-Clause
// Holds a line in one register.
#include <immintrin.h>

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

    template <typename L>
    static Pattern pattern(std::uint32_t fingerprint) noexcept {
        static constexpr ByteOf<L> kBytes;
        return _mm512_shuffle_epi8(_mm512_set1_epi32(static_cast<int>(fingerprint)),
                                   _mm512_load_si512(kBytes.of));
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
    static Line longer(const std::byte* from, Pattern pattern, std::uint64_t planes,
                       std::uint64_t header) noexcept {
        constexpr std::uint64_t kHeader = ~std::uint64_t{0} << L::kHeaderAt;
        constexpr std::uint64_t kNewest = [] {
            std::uint64_t bytes = 0;
            for (unsigned b = 0; b < L::kBytes; ++b) {
                bytes |= std::uint64_t{1} << L::kSlots * b;
            }
            return bytes;
        }();
        const __m512i line = _mm512_load_si512(from);
        // Byte i becomes byte i + 1. The last byte of each 16 comes from the 16 below.
        const __m512i below = _mm512_alignr_epi64(line, line, 6);
        const __m512i moved = _mm512_alignr_epi8(line, below, 15);
        const __m512i with = _mm512_mask_mov_epi8(moved, kNewest, pattern);
        return _mm512_mask_mov_epi8(with, kHeader, end<L>(planes, header));
    }

    static Line load(const std::byte* from) noexcept { return _mm512_load_si512(from); }
    static void store(std::byte* to, Line line) noexcept { _mm512_store_si512(to, line); }

  private:
    // Return the last 16 bytes of a line; those before the header are ignored.
    template <typename L>
    static __m512i end(std::uint64_t planes, std::uint64_t header) noexcept {
        const auto last = static_cast<long long>(header);
        if constexpr (L::kPlanes == 0) {
            return _mm512_set1_epi64(last);
        } else {
            const auto before = static_cast<long long>(planes << 8 * (L::kHeaderAt - 48));
            return _mm512_broadcast_i64x2(_mm_set_epi64x(last, before));
        }
    }
};

}  // namespace

constexpr FingerprintKernels kFingerprintAvx512 = fingerprint_kernels<Avx512Line>();

}  // namespace unecho::filter
