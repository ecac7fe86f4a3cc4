// SPDX-License-Identifier: BSD-3-Clause
// Holds a line in two registers. Computes the places of four digests at a time.
#include <immintrin.h>

#include "filters/kernels/line_body-inl.h"

namespace unecho::filter {
namespace {

struct Avx2Line {
    struct Line {
        __m256i low;
        __m256i high;
    };

    template <unsigned M, unsigned k>
    static void find_places(const LineView& view, const std::uint64_t* digests, unsigned n,
                            LinePlaces& places) noexcept {
        const __m256i phases = all(static_cast<long long>((1ULL << view.phase_bits) - 1));
        for (unsigned begin = 0; begin < n; begin += 4) {
            const unsigned count = n - begin < 4 ? n - begin : 4;
            const __m256i digest = loaded(digests + begin, count);
            const __m256i folded = _mm256_xor_si256(digest, _mm256_srli_epi64(digest, 32));
            __m256i phase{};
            for (unsigned row = 0; row < M; ++row) {
                const __m256i hash = row == 0 ? digest : product(folded, kRowFactor[row]);
                __m256i line{};
                if (row == 0) {
                    line = reduced(hash, view.line_count);
                    phase = _mm256_and_si256(line, phases);
                    store4(&places.phase[begin], phase);
                } else {
                    line = _mm256_or_si256(
                        _mm256_sll_epi64(reduced(hash, view.lines_a_phase),
                                         _mm_cvtsi32_si128(static_cast<int>(view.phase_bits))),
                        phase);
                }
                std::uint64_t* const words = &places.word[row][begin];
                store4(words, _mm256_slli_epi64(line, 3));
                store_patterns<k>(view, hash, &places.pattern[row][begin * k]);
            }
        }
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

    // fresh: the line with stale words emptied.
    static unsigned matches(Line line, Line tags, Line pattern, Line& fresh) noexcept {
        fresh = {refreshed(line.low, tags.low), refreshed(line.high, tags.high)};
        return covering(fresh.low, pattern.low) | covering(fresh.high, pattern.high) << 4;
    }

    static Line inserted(Line line, Line pattern, unsigned verdict) noexcept {
        const __m256i verdicts = all(verdict);
        const auto with = [verdicts](__m256i words, __m256i pattern_words, __m256i bits) {
            const __m256i written = _mm256_cmpeq_epi64(_mm256_and_si256(verdicts, bits), bits);
            return _mm256_or_si256(words, _mm256_and_si256(pattern_words, written));
        };
        return {with(line.low, pattern.low, _mm256_setr_epi64x(1, 2, 4, 8)),
                with(line.high, pattern.high, _mm256_setr_epi64x(16, 32, 64, 128))};
    }

    static std::uint64_t which(const Verdicts& verdicts, unsigned n, unsigned bit) noexcept {
        const __m256i wanted = _mm256_set1_epi16(static_cast<short>(bit));
        std::uint64_t which = 0;
        for (unsigned begin = 0; begin < n; begin += 32) {
            const auto* some = reinterpret_cast<const __m256i*>(verdicts.of + begin);
            const __m256i low = _mm256_and_si256(_mm256_load_si256(some), wanted);
            const __m256i high = _mm256_and_si256(_mm256_load_si256(some + 1), wanted);
            const __m256i bytes = _mm256_packs_epi16(_mm256_cmpeq_epi16(low, wanted),
                                                     _mm256_cmpeq_epi16(high, wanted));
            const int bits = _mm256_movemask_epi8(_mm256_permute4x64_epi64(bytes, 0xD8));
            which |= std::uint64_t{static_cast<unsigned>(bits)} << begin;
        }
        return which & ~std::uint64_t{0} >> (kMaxLineDigests - n);
    }

    static constexpr bool kJudgesLater = true;

    template <unsigned M, unsigned k>
    static float chance(const Line (&lines)[M], unsigned no_run, const float* coverage) noexcept {
        unsigned bits[M][kLineWords];
        for (unsigned row = 0; row < M; ++row) {
            alignas(32) std::uint64_t words[kLineWords];
            store(words, lines[row]);
            for (unsigned w = 0; w < kLineWords; ++w) {
                bits[row][w] = static_cast<unsigned>(__builtin_popcountll(words[w] & ~kTagBits));
            }
        }
        return chance_of<M, k>(bits, no_run, coverage);
    }

    template <unsigned M, unsigned k>
    static LineChances chances(const Line (&a)[M], const Line (&b)[M], unsigned no_run_a,
                               unsigned no_run_b, const float* coverage) noexcept {
        return {chance<M, k>(a, no_run_a, coverage), chance<M, k>(b, no_run_b, coverage)};
    }

  private:
    static __m256i all(long long value) noexcept { return _mm256_set1_epi64x(value); }
    static __m256i tag_bits() noexcept { return all(static_cast<long long>(kTagBits)); }

    static __m256i loaded(const std::uint64_t* from, unsigned count) noexcept {
        if (count == 4) {
            return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
        }
        const __m256i present = _mm256_cmpgt_epi64(all(count), _mm256_setr_epi64x(0, 1, 2, 3));
        return _mm256_maskload_epi64(reinterpret_cast<const long long*>(from), present);
    }
    static void store4(std::uint64_t* to, __m256i values) noexcept {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), values);
    }

    static unsigned covering(__m256i words, __m256i pattern) noexcept {
        const __m256i lacking = _mm256_andnot_si256(words, pattern);
        const __m256i none = _mm256_cmpeq_epi64(lacking, _mm256_setzero_si256());
        return static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(none)));
    }

    // Return all ones for words of the present rotation.
    static __m256i current(__m256i words, __m256i tags) noexcept {
        const __m256i differs = _mm256_and_si256(_mm256_xor_si256(words, tags), tag_bits());
        return _mm256_cmpeq_epi64(differs, _mm256_setzero_si256());
    }

    static __m256i refreshed(__m256i words, __m256i tags) noexcept {
        return _mm256_blendv_epi8(tags, words, current(words, tags));
    }

    // Return the low half of each product.
    static __m256i product(__m256i a, std::uint64_t factor) noexcept {
        const __m256i b = all(static_cast<long long>(factor));
        const __m256i crossed = _mm256_add_epi64(_mm256_mul_epu32(a, _mm256_srli_epi64(b, 32)),
                                                 _mm256_mul_epu32(_mm256_srli_epi64(a, 32), b));
        return _mm256_add_epi64(_mm256_mul_epu32(a, b), _mm256_slli_epi64(crossed, 32));
    }

    // Map the high half of a hash to [0, n).
    static __m256i reduced(__m256i hash, std::uint32_t n) noexcept {
        return _mm256_srli_epi64(_mm256_mul_epu32(_mm256_srli_epi64(hash, 32), all(n)), 32);
    }

    template <unsigned k>
    static void store_patterns(const LineView& view, __m256i hash,
                               std::uint64_t* patterns) noexcept {
        const __m256i first = rotated_pattern(view, hash);
        if (k == 1) {
            store4(patterns, first);
            return;
        }
        const __m256i second = rotated_pattern(view, _mm256_srli_epi64(hash, 16));
        const __m256i even = _mm256_unpacklo_epi64(first, second);
        const __m256i odd = _mm256_unpackhi_epi64(first, second);
        store4(patterns, _mm256_permute2x128_si256(even, odd, 0x20));
        store4(patterns + 4, _mm256_permute2x128_si256(even, odd, 0x31));
    }

    static __m256i rotated_pattern(const LineView& view, __m256i bits) noexcept {
        const __m256i number = _mm256_and_si256(bits, all(kLinePatterns - 1));
        const __m256i pattern =
            _mm256_i64gather_epi64(reinterpret_cast<const long long*>(view.patterns), number, 8);
        const __m256i six = _mm256_and_si256(_mm256_srli_epi64(bits, 10), all(63));
        const __m256i by = _mm256_srli_epi64(_mm256_mul_epu32(six, all(kPatternBits)), 6);
        const __m256i up = _mm256_sllv_epi64(pattern, by);
        const __m256i down = _mm256_srlv_epi64(pattern, _mm256_sub_epi64(all(kPatternBits), by));
        return _mm256_andnot_si256(tag_bits(), _mm256_or_si256(up, down));
    }
};

}  // namespace

constexpr LineKernels kLineAvx2 = line_kernels<Avx2Line>();

}  // namespace unecho::filter
