// SPDX-License-Identifier: BSD-3-Clause
// A line in one register; the places of eight digests at a time.
#include <immintrin.h>

#include "filter/kernels/line_body-inl.h"

namespace unecho::filter {
namespace {

struct Avx512Line {
    using Line = __m512i;

    template <unsigned M, unsigned k>
    static void find_places(const LineView& view, const std::uint64_t* digests, unsigned n,
                            LinePlaces& places) noexcept {
        const __m512i phases = all(static_cast<long long>((1ULL << view.phase_bits) - 1));
        for (unsigned begin = 0; begin < n; begin += 8) {
            const unsigned count = n - begin < 8 ? n - begin : 8;
            const auto present = static_cast<__mmask8>((1U << count) - 1);
            const __m512i digest = _mm512_maskz_loadu_epi64(present, digests + begin);
            const __m512i folded = _mm512_xor_si512(digest, _mm512_srli_epi64(digest, 32));
            __m512i phase{};
            for (unsigned row = 0; row < M; ++row) {
                const __m512i hash =
                    row == 0
                        ? digest
                        : _mm512_mullo_epi64(folded, all(static_cast<long long>(kRowFactor[row])));
                __m512i line{};
                if (row == 0) {
                    line = reduced(hash, view.line_count);
                    phase = _mm512_and_si512(line, phases);
                    _mm512_storeu_si512(&places.phase[begin], phase);
                } else {
                    line = _mm512_or_si512(
                        _mm512_sll_epi64(reduced(hash, view.lines_a_phase),
                                         _mm_cvtsi32_si128(static_cast<int>(view.phase_bits))),
                        phase);
                }
                std::uint64_t* const words = &places.word[row][begin];
                _mm512_storeu_si512(words, _mm512_slli_epi64(line, 3));
                store_patterns<k>(view, hash, &places.pattern[row][begin * k]);
            }
        }
    }

    static Line load(const std::uint64_t* words) noexcept { return _mm512_load_si512(words); }
    static void store(std::uint64_t* words, Line line) noexcept { _mm512_store_si512(words, line); }

    template <unsigned k>
    static Line pattern(const std::uint64_t* patterns) noexcept {
        return k == 1 ? all(static_cast<long long>(patterns[0]))
                      : _mm512_broadcast_i64x2(
                            _mm_loadu_si128(reinterpret_cast<const __m128i*>(patterns)));
    }

    static unsigned matches(Line line, Line tags, Line pattern) noexcept {
        // line ^ (tags | pattern)
        const __m512i differs = _mm512_ternarylogic_epi64(line, tags, pattern, 0x1E);
        return _mm512_testn_epi64_mask(differs, _mm512_or_si512(tag_bits(), pattern));
    }

    static Line refreshed(Line line, Line tags) noexcept {
        return _mm512_mask_mov_epi64(line, stale(line, tags), tags);
    }

    static Line inserted(Line line, Line pattern, const LinePhase& phase, bool insert) noexcept {
        // Without a branch: at 50 % echoes a mispredicted one costs 6 ns.
        const auto words = static_cast<__mmask8>(phase.written_words & (0U - unsigned{insert}));
        return _mm512_mask_or_epi64(line, words, line, pattern);
    }

    static constexpr bool kChanceIsCheap = true;  // than a mispredicted branch

    // As chance_of(), a word in every other lane; the others are 0 throughout, as a word without
    // bits covers nothing.
    template <unsigned M, unsigned k>
    static float chance(const std::uint64_t* const (&lines)[M], Line tags, unsigned no_run,
                        const float* coverage) noexcept {
        __m512 covered = cover(load(lines[0]), tags, coverage);
        for (unsigned row = 1; row < M; ++row) {
            covered = _mm512_mul_ps(covered, cover(load(lines[row]), tags, coverage));
        }
        const __m512 runs = k == 1 ? covered : _mm512_mul_ps(covered, turned<7>(covered));
        const __m512 run = _mm512_castsi512_ps(
            _mm512_maskz_mov_epi64(static_cast<__mmask8>(~no_run), _mm512_castps_si512(runs)));
        const __m512 halves = _mm512_add_ps(run, turned<4>(run));
        const __m512 quarters = _mm512_add_ps(halves, turned<2>(halves));
        return _mm512_cvtss_f32(_mm512_add_ps(quarters, turned<1>(quarters)));
    }

  private:
    static __m512i all(long long value) noexcept { return _mm512_set1_epi64(value); }
    static __m512i tag_bits() noexcept { return all(static_cast<long long>(kTagBits)); }

    static __mmask8 stale(Line line, Line tags) noexcept {
        return _mm512_test_epi64_mask(_mm512_xor_si512(line, tags), tag_bits());
    }

    // Word w becomes word w + by.
    template <int by>
    static __m512 turned(__m512 words) noexcept {
        const __m512i lanes = _mm512_castps_si512(words);
        return _mm512_castsi512_ps(_mm512_alignr_epi64(lanes, lanes, by));
    }

    // In each word, by halves of its bytes: VPOPCNTDQ, which does it at once, is missing before Ice
    // Lake and Zen 4.
    static __m512i bits_set(__m512i words) noexcept {
        const __m512i of_half =
            _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
        const __m512i half = _mm512_set1_epi8(15);
        const __m512i low = _mm512_and_si512(words, half);
        const __m512i high = _mm512_and_si512(_mm512_srli_epi64(words, 4), half);
        const __m512i of_bytes =
            _mm512_add_epi8(_mm512_shuffle_epi8(of_half, low), _mm512_shuffle_epi8(of_half, high));
        return _mm512_sad_epu8(of_bytes, _mm512_setzero_si512());
    }

    // By the bits set in words of this rotation. The table is four registers.
    static __m512 cover(Line line, Line tags, const float* coverage) noexcept {
        const auto current = static_cast<__mmask8>(~stale(line, tags));
        const __m512i bits = bits_set(_mm512_maskz_andnot_epi64(current, tag_bits(), line));
        const __m512 few =
            _mm512_permutex2var_ps(_mm512_load_ps(coverage), bits, _mm512_load_ps(coverage + 16));
        const __m512 many = _mm512_permutex2var_ps(_mm512_load_ps(coverage + 32), bits,
                                                   _mm512_load_ps(coverage + 48));
        const __mmask16 from_many = _mm512_test_epi32_mask(bits, _mm512_set1_epi32(32));
        return _mm512_mask_mov_ps(few, from_many, many);
    }

    // The high half of a hash, mapped to [0, n).
    static __m512i reduced(__m512i hash, std::uint32_t n) noexcept {
        return _mm512_srli_epi64(_mm512_mul_epu32(_mm512_srli_epi64(hash, 32), all(n)), 32);
    }

    template <unsigned k>
    static void store_patterns(const LineView& view, __m512i hash,
                               std::uint64_t* patterns) noexcept {
        const __m512i first = rotated_pattern(view, hash);
        if (k == 1) {
            _mm512_storeu_si512(patterns, first);
            return;
        }
        const __m512i second = rotated_pattern(view, _mm512_srli_epi64(hash, 16));
        const __m512i low = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
        const __m512i high = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
        _mm512_storeu_si512(patterns, _mm512_permutex2var_epi64(first, low, second));
        _mm512_storeu_si512(patterns + 8, _mm512_permutex2var_epi64(first, high, second));
    }

    static __m512i rotated_pattern(const LineView& view, __m512i bits) noexcept {
        const __m512i number = _mm512_and_si512(bits, all(kLinePatterns - 1));
        const __m512i pattern = _mm512_i64gather_epi64(number, view.patterns, 8);
        const __m512i six = _mm512_and_si512(_mm512_srli_epi64(bits, 10), all(63));
        const __m512i by = _mm512_srli_epi64(_mm512_mul_epu32(six, all(kPatternBits)), 6);
        const __m512i up = _mm512_sllv_epi64(pattern, by);
        const __m512i down = _mm512_srlv_epi64(pattern, _mm512_sub_epi64(all(kPatternBits), by));
        // (up | down) & ~tag bits
        return _mm512_ternarylogic_epi64(tag_bits(), up, down, 0x0E);
    }
};

}  // namespace

constexpr LineKernels kLineAvx512 = line_kernels<Avx512Line>();

}  // namespace unecho::filter
