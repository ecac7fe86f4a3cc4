// SPDX-License-Identifier: BSD-3-Clause
// Holds a block in two registers.
#include <immintrin.h>

#include "filters/kernels/apbbf_body-inl.h"

namespace unecho::filter {
namespace {

struct Avx2Block {
    struct Block {
        __m256i low;
        __m256i high;
    };

    static void find_row(const ApbbfProbe& probe, std::uint32_t blocks,
                         const std::uint64_t* digests, unsigned n, std::uint64_t* digits,
                         std::uint64_t** block) noexcept {
        filter::find_row(probe, blocks, digests, n, digits, block);
    }

    static Block load(const std::uint64_t* words) noexcept {
        const auto* at = reinterpret_cast<const __m256i*>(words);
        return {_mm256_load_si256(at), _mm256_load_si256(at + 1)};
    }

    static void store(std::uint64_t* words, Block block) noexcept {
        auto* at = reinterpret_cast<__m256i*>(words);
        _mm256_store_si256(at, block.low);
        _mm256_store_si256(at + 1, block.high);
    }

    static Block bits(std::uint64_t digits) noexcept {
        const __m256i all = _mm256_set1_epi64x(static_cast<long long>(digits));
        return {bits_of(all, 0), bits_of(all, 4)};
    }

    static bool covers(Block block, Block bits) noexcept {
        const __m256i missing = _mm256_or_si256(_mm256_andnot_si256(block.low, bits.low),
                                                _mm256_andnot_si256(block.high, bits.high));
        return _mm256_testz_si256(missing, missing) != 0;
    }

    static Block with(Block block, Block bits, bool insert) noexcept {
        const __m256i all = _mm256_set1_epi64x(insert ? -1 : 0);
        return {_mm256_or_si256(block.low, _mm256_and_si256(bits.low, all)),
                _mm256_or_si256(block.high, _mm256_and_si256(bits.high, all))};
    }

  private:
    static __m256i bits_of(__m256i digits, long long first_word) noexcept {
        constexpr long long s = kDigitStride;
        const __m256i by = _mm256_setr_epi64x(s * first_word, s * (first_word + 1),
                                              s * (first_word + 2), s * (first_word + 3));
        const __m256i position = _mm256_srli_epi64(_mm256_sllv_epi64(digits, by), 64 - kDigitBits);
        return _mm256_sllv_epi64(_mm256_set1_epi64x(1), position);
    }
};

}  // namespace

constexpr ApbbfKernels kApbbfAvx2 = apbbf_kernels<Avx2Block>();

}  // namespace unecho::filter
