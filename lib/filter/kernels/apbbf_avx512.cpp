// SPDX-License-Identifier: BSD-3-Clause
// A block in one register; the places of eight digests at a time.
#include <immintrin.h>

#include "filter/kernels/apbbf_body-inl.h"

namespace unecho::filter {
namespace {

struct Avx512Block {
    using Block = __m512i;

    static void find_row(const ApbbfProbe& probe, std::uint32_t blocks,
                         const std::uint64_t* digests, unsigned n, std::uint64_t* digits,
                         std::uint64_t** block) noexcept {
        const __m512i salt = all(probe.salt);
        const __m512i base = all(reinterpret_cast<std::uint64_t>(probe.blocks));
        const auto present = static_cast<__mmask8>((1U << n) - 1);
        const __m512i digest = _mm512_maskz_loadu_epi64(present, digests);
        const __m512i hash = mixed(_mm512_add_epi64(digest, salt));
        const __m512i number = block_number(hash, all(blocks));
        _mm512_storeu_si512(block, _mm512_add_epi64(base, _mm512_slli_epi64(number, 6)));
        for (unsigned i = 0; i < n; ++i) {
            __builtin_prefetch(block[i], 1);
        }
        _mm512_storeu_si512(digits, _mm512_mullo_epi64(hash, all(kWordFactor)));
    }

    static Block load(const std::uint64_t* words) noexcept { return _mm512_load_si512(words); }
    static void store(std::uint64_t* words, Block block) noexcept {
        _mm512_store_si512(words, block);
    }

    // Rotations take their count modulo 64: first the digit becomes the low bits, then the position
    // of a bit.
    static Block bits(std::uint64_t digits) noexcept {
        constexpr long long s = kDigitStride;
        constexpr long long d = kDigitBits;
        const __m512i by = _mm512_setr_epi64(d, d + s, d + 2 * s, d + 3 * s, d + 4 * s, d + 5 * s,
                                             d + 6 * s, d + 7 * s);
        return _mm512_rolv_epi64(all(1), _mm512_rolv_epi64(all(digits), by));
    }

    static bool covers(Block block, Block bits) noexcept {
        return _mm512_testn_epi64_mask(block, bits) == 0;
    }

    static Block with(Block block, Block bits, bool insert) noexcept {
        return _mm512_mask_or_epi64(block, static_cast<__mmask8>(insert ? 0xFF : 0), block, bits);
    }

  private:
    static __m512i all(std::uint64_t value) noexcept {
        return _mm512_set1_epi64(static_cast<long long>(value));
    }

    static __m512i mixed(__m512i x) noexcept {
        x = _mm512_mullo_epi64(_mm512_xor_si512(x, _mm512_srli_epi64(x, 30)), all(kMixFactor[0]));
        x = _mm512_mullo_epi64(_mm512_xor_si512(x, _mm512_srli_epi64(x, 27)), all(kMixFactor[1]));
        return _mm512_xor_si512(x, _mm512_srli_epi64(x, 31));
    }

    static __m512i block_number(__m512i hash, __m512i blocks) noexcept {
        const __m512i low = _mm512_srli_epi64(_mm512_mul_epu32(hash, blocks), 32);
        const __m512i high = _mm512_mul_epu32(_mm512_srli_epi64(hash, 32), blocks);
        return _mm512_srli_epi64(_mm512_add_epi64(high, low), 32);
    }
};

}  // namespace

constexpr ApbbfKernels kApbbfAvx512 = apbbf_kernels<Avx512Block>();

}  // namespace unecho::filter
