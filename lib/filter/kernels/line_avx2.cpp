// SPDX-License-Identifier: BSD-3-Clause
// A line in two registers.
#include <immintrin.h>

#include "filter/kernels/line_body-inl.h"

namespace unecho::filter {
namespace {

struct Avx2Line {
    struct Line {
        __m256i low;
        __m256i high;
    };

    template <unsigned M, unsigned k>
    static void find_places(const LineView& view, const std::uint64_t* digests, unsigned n,
                            LinePlaces<M, k>& places) noexcept {
        filter::find_places(view, digests, n, places);
    }

    static Line load(const std::uint64_t* words) noexcept {
        const auto* at = reinterpret_cast<const __m256i*>(words);
        return {_mm256_load_si256(at), _mm256_load_si256(at + 1)};
    }

    static void store(std::uint64_t* words, Line line) noexcept {
        auto* at = reinterpret_cast<__m256i*>(words);
        _mm256_store_si256(at, line.low);
        _mm256_store_si256(at + 1, line.high);
    }

    template <unsigned k>
    static Line pattern(const std::uint64_t* patterns) noexcept {
        const __m256i half = k == 1 ? _mm256_set1_epi64x(static_cast<long long>(patterns[0]))
                                    : _mm256_broadcastsi128_si256(_mm_loadu_si128(
                                          reinterpret_cast<const __m128i*>(patterns)));
        return {half, half};
    }

    static unsigned matches(Line line, Line tags, Line pattern) noexcept {
        return matches(line.low, tags.low, pattern.low) |
               matches(line.high, tags.high, pattern.high) << 4;
    }

    static Line refreshed(Line line, Line tags) noexcept {
        return {refreshed(line.low, tags.low), refreshed(line.high, tags.high)};
    }

    static Line inserted(Line line, Line pattern, const LinePhase& phase, bool insert) noexcept {
        const Line written = load(phase.written);
        const __m256i all = _mm256_set1_epi64x(insert ? -1 : 0);
        const auto with = [all](__m256i words, __m256i pattern_words, __m256i written_words) {
            return _mm256_or_si256(
                words, _mm256_and_si256(_mm256_and_si256(pattern_words, written_words), all));
        };
        return {with(line.low, pattern.low, written.low),
                with(line.high, pattern.high, written.high)};
    }

    // Computed for matches only.
    static constexpr bool kChanceIsCheap = false;

    template <unsigned M, unsigned k>
    static float chance(const std::uint64_t* const (&lines)[M], Line tags, unsigned no_run,
                        const float* coverage) noexcept {
        unsigned bits[M][kLineWords];
        for (unsigned row = 0; row < M; ++row) {
            alignas(32) std::uint64_t words[kLineWords];
            const Line line = load(lines[row]);
            store(words, {live(line.low, tags.low), live(line.high, tags.high)});
            for (unsigned w = 0; w < kLineWords; ++w) {
                bits[row][w] = static_cast<unsigned>(__builtin_popcountll(words[w]));
            }
        }
        return chance_of<M, k>(bits, no_run, coverage);
    }

  private:
    static __m256i tag_bits() noexcept {
        return _mm256_set1_epi64x(static_cast<long long>(kTagBits));
    }

    static unsigned matches(__m256i words, __m256i tags, __m256i pattern) noexcept {
        const __m256i differs = _mm256_xor_si256(words, _mm256_or_si256(tags, pattern));
        const __m256i wanted = _mm256_and_si256(differs, _mm256_or_si256(tag_bits(), pattern));
        const __m256i equal = _mm256_cmpeq_epi64(wanted, _mm256_setzero_si256());
        return static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(equal)));
    }

    // All ones where a word is of this rotation.
    static __m256i current(__m256i words, __m256i tags) noexcept {
        const __m256i differs = _mm256_and_si256(_mm256_xor_si256(words, tags), tag_bits());
        return _mm256_cmpeq_epi64(differs, _mm256_setzero_si256());
    }

    static __m256i refreshed(__m256i words, __m256i tags) noexcept {
        return _mm256_blendv_epi8(tags, words, current(words, tags));
    }

    // The pattern bits of words of this rotation.
    static __m256i live(__m256i words, __m256i tags) noexcept {
        return _mm256_and_si256(_mm256_andnot_si256(tag_bits(), words), current(words, tags));
    }
};

}  // namespace

constexpr LineKernels kLineAvx2 = line_kernels<Avx2Line>();

}  // namespace unecho::filter
