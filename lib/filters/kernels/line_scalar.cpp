// SPDX-License-Identifier: BSD-3-Clause
// The specification, word by word.
#include "filters/kernels/line_body-inl.h"

namespace unecho::filter {
namespace {

struct ScalarLine {
    struct Line {
        std::uint64_t word[kLineWords];
    };

    template <unsigned M, unsigned k>
    static void find_places(const LineView& view, const std::uint64_t* digests, unsigned n,
                            LinePlaces& places) noexcept {
        filter::find_places<M, k>(view, digests, n, places);
    }

    static Line load(const std::uint64_t* words) noexcept {
        Line line;
        for (unsigned w = 0; w < kLineWords; ++w) {
            line.word[w] = words[w];
        }
        return line;
    }

    static void store(std::uint64_t* words, const Line& line) noexcept {
        for (unsigned w = 0; w < kLineWords; ++w) {
            words[w] = line.word[w];
        }
    }

    // Neighbouring ages use different patterns. k divides kLineWords, so a word keeps its pattern.
    template <unsigned k>
    static Line pattern(const std::uint64_t* patterns) noexcept {
        Line line;
        for (unsigned w = 0; w < kLineWords; ++w) {
            line.word[w] = patterns[w % k];
        }
        return line;
    }

    // Return the current words that cover the pattern. fresh: the line with stale words emptied.
    static unsigned matches(const Line& line, const Line& tags, const Line& pattern,
                            Line& fresh) noexcept {
        unsigned matching = 0;
        for (unsigned w = 0; w < kLineWords; ++w) {
            const bool stale = ((line.word[w] ^ tags.word[w]) & kTagBits) != 0;
            fresh.word[w] = stale ? tags.word[w] : line.word[w];
            const bool all = (pattern.word[w] & ~fresh.word[w]) == 0;
            matching |= unsigned{all} << w;
        }
        return matching;
    }

    static Line inserted(Line line, const Line& pattern, unsigned verdict) noexcept {
        for (unsigned w = 0; w < kLineWords; ++w) {
            line.word[w] |= (verdict >> w & 1) != 0 ? pattern.word[w] : 0;
        }
        return line;
    }

    static std::uint64_t which(const Verdicts& verdicts, unsigned n, unsigned bit) noexcept {
        return which_one_by_one(verdicts, n, bit);
    }

    static constexpr bool kJudgesLater = false;

    template <unsigned M, unsigned k>
    static float chance(const Line (&lines)[M], unsigned no_run, const float* coverage) noexcept {
        unsigned bits[M][kLineWords];
        for (unsigned row = 0; row < M; ++row) {
            for (unsigned w = 0; w < kLineWords; ++w) {
                const std::uint64_t word = lines[row].word[w];
                bits[row][w] = static_cast<unsigned>(__builtin_popcountll(word & ~kTagBits));
            }
        }
        return chance_of<M, k>(bits, no_run, coverage);
    }
};

}  // namespace

constexpr LineKernels kLineScalar = line_kernels<ScalarLine>();

}  // namespace unecho::filter
