// SPDX-License-Identifier: BSD-3-Clause
#ifdef __AVX2__

#include <immintrin.h>

#include "filters/hash/kernels/body_sum-inl.h"

namespace unecho::hash {
namespace {

inline __m256i load(const void* p) noexcept {
    return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}

// Words at even and odd positions are multiplied separately, because each product has 64 bits.
class Avx2Block {
  public:
    void add(const std::uint8_t* stripe, const std::uint64_t* key) noexcept {
        const __m256i front = load(stripe);
        const __m256i back = load(stripe + kStripeBytes / 2);
        add_products(front, back, key, first_even_, first_odd_);
        add_products(front, back, key + kStripeWords, second_even_, second_odd_);
    }
    [[nodiscard]] BlockSums sums() const noexcept {
        return {lanes(_mm256_add_epi64(first_even_, first_odd_)),
                lanes(_mm256_add_epi64(second_even_, second_odd_))};
    }

  private:
    static void add_products(__m256i front, __m256i back, const std::uint64_t* key, __m256i& even,
                             __m256i& odd) noexcept {
        const __m256i a = _mm256_add_epi32(front, load(key));
        const __m256i b = _mm256_add_epi32(back, load(key + kStripeWords / 2));
        even = _mm256_add_epi64(even, _mm256_mul_epu32(a, b));
        odd = _mm256_add_epi64(
            odd, _mm256_mul_epu32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(b, 32)));
    }
    static std::uint64_t lanes(__m256i sums) noexcept {
        const __m128i two =
            _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
        return static_cast<std::uint64_t>(_mm_cvtsi128_si64(two)) +
               static_cast<std::uint64_t>(_mm_extract_epi64(two, 1));
    }

    __m256i first_even_ = _mm256_setzero_si256();
    __m256i first_odd_ = _mm256_setzero_si256();
    __m256i second_even_ = _mm256_setzero_si256();
    __m256i second_odd_ = _mm256_setzero_si256();
};

}  // namespace

uint128 body_sum_avx2(const std::uint8_t* body, std::size_t n, const Secret& secret) noexcept {
    return body_sum<Avx2Block>(body, n, secret);
}

}  // namespace unecho::hash

#endif
