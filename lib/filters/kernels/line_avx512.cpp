// SPDX-License-Identifier: BSD-3-Clause
// Holds a line in one register. Computes the places of eight digests at a time.
#include <immintrin.h>

#include "filters/kernels/line_body-inl.h"

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

    // fresh: the line with stale words emptied.
    static unsigned matches(Line line, Line tags, Line pattern, Line& fresh) noexcept {
        // line ^ (tags | pattern); patterns have no tag bits
        const __m512i differs = _mm512_ternarylogic_epi64(line, tags, pattern, 0x1E);
        fresh = _mm512_mask_mov_epi64(line, _mm512_test_epi64_mask(differs, tag_bits()), tags);
        return _mm512_testn_epi64_mask(differs, _mm512_or_si512(tag_bits(), pattern));
    }

    static Line inserted(Line line, Line pattern, unsigned verdict) noexcept {
        return _mm512_mask_or_epi64(line, static_cast<__mmask8>(verdict & kWrites), line, pattern);
    }

    static std::uint64_t which(const Verdicts& verdicts, unsigned n, unsigned bit) noexcept {
        const __m512i wanted = _mm512_set1_epi16(static_cast<short>(bit));
        std::uint64_t which = 0;
        for (unsigned begin = 0; begin < n; begin += 32) {
            const __m512i some = _mm512_load_si512(verdicts.of + begin);
            which |= std::uint64_t{_mm512_test_epi16_mask(some, wanted)} << begin;
        }
        return which & ~std::uint64_t{0} >> (kMaxLineDigests - n);
    }

    static constexpr bool kJudgesLater = true;

    template <unsigned M, unsigned k>
    static float chance(const Line (&lines)[M], unsigned no_run, const float* coverage) noexcept {
        return chances<M, k>(lines, lines, no_run, no_run, coverage).a;
    }

    // chance_of() for two digests at once: the words of a in even lanes, of b in odd ones.
    template <unsigned M, unsigned k>
    static LineChances chances(const Line (&a)[M], const Line (&b)[M], unsigned no_run_a,
                               unsigned no_run_b, const float* coverage) noexcept {
        __m512 covered = cover(bits_set(a[0], b[0]), coverage);
        for (unsigned row = 1; row < M; ++row) {
            covered = _mm512_mul_ps(covered, cover(bits_set(a[row], b[row]), coverage));
        }
        __m512 run = covered;
        if (k != 1) {  // no_run is the bit of word w; its square is bit 2 w
            const auto no_run =
                static_cast<__mmask16>(no_run_a * no_run_a | no_run_b * no_run_b << 1);
            run = _mm512_maskz_mul_ps(static_cast<__mmask16>(~no_run), covered, turned<7>(covered));
        }
        const __m512 halves = _mm512_add_ps(run, turned<4>(run));
        const __m512 quarters = _mm512_add_ps(halves, turned<2>(halves));
        const __m128 sums = _mm512_castps512_ps128(_mm512_add_ps(quarters, turned<1>(quarters)));
        return {_mm_cvtss_f32(sums), _mm_cvtss_f32(_mm_movehdup_ps(sums))};
    }

  private:
    static __m512i all(long long value) noexcept { return _mm512_set1_epi64(value); }
    static __m512i tag_bits() noexcept { return all(static_cast<long long>(kTagBits)); }

    // Word w becomes word w + by.
    template <int by>
    static __m512 turned(__m512 words) noexcept {
        const __m512i lanes = _mm512_castps_si512(words);
        return _mm512_castsi512_ps(_mm512_alignr_epi64(lanes, lanes, by));
    }

    static __m512i bits_set(Line a, Line b) noexcept {
        return _mm512_or_si512(bits_set(a), _mm512_slli_epi64(bits_set(b), 32));
    }

    // Count the bits set in each word, without its tag, by half bytes. VPOPCNTDQ would do it at
    // once, but is missing before Ice Lake and Zen 4.
    static __m512i bits_set(Line words) noexcept {
        const __m512i of_half =
            _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
        const __m512i low_halves = all(0x0F0F0F0F0F0F0F0F);
        const __m512i high_halves = all(0x030F0F0F0F0F0F0F);
        const __m512i low = _mm512_and_si512(words, low_halves);
        const __m512i high = _mm512_and_si512(_mm512_srli_epi64(words, 4), high_halves);
        const __m512i of_bytes =
            _mm512_add_epi8(_mm512_shuffle_epi8(of_half, low), _mm512_shuffle_epi8(of_half, high));
        return _mm512_sad_epu8(of_bytes, _mm512_setzero_si512());
    }

    // Look up the coverage of each word by its bits. The table is four registers.
    static __m512 cover(__m512i bits, const float* coverage) noexcept {
        const __m512 few =
            _mm512_permutex2var_ps(_mm512_load_ps(coverage), bits, _mm512_load_ps(coverage + 16));
        const __m512 many = _mm512_permutex2var_ps(_mm512_load_ps(coverage + 32), bits,
                                                   _mm512_load_ps(coverage + 48));
        const __mmask16 from_many = _mm512_test_epi32_mask(bits, _mm512_set1_epi32(32));
        return _mm512_mask_mov_ps(few, from_many, many);
    }

    // Map the high half of a hash to [0, n).
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

    // Loads one by one: a gather is slower on Zen 4, and elsewhere with mitigations of data leaks.
    static __m512i looked_up(const std::uint64_t* table, __m512i numbers) noexcept {
        alignas(64) std::uint64_t of[8];
        _mm512_store_si512(of, numbers);
        const auto at = [table, &of](unsigned i) noexcept {
            return reinterpret_cast<const double*>(table + of[i]);
        };
        const auto two = [&at](unsigned i) noexcept {
            return _mm_castpd_si128(_mm_loadh_pd(_mm_load_sd(at(i)), at(i + 1)));
        };
        const auto four = [&two](unsigned i) noexcept {
            return _mm256_set_m128i(two(i + 2), two(i));
        };
        return _mm512_inserti64x4(_mm512_castsi256_si512(four(0)), four(4), 1);
    }

    static __m512i rotated_pattern(const LineView& view, __m512i bits) noexcept {
        const __m512i number = _mm512_and_si512(bits, all(kLinePatterns - 1));
        const __m512i pattern = looked_up(view.patterns, number);
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
