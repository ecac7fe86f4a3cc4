// SPDX-License-Identifier: BSD-3-Clause
// The line filter's burst over a handful of operations on a whole line, which each instruction set
// brings as a struct V (kernels/line_<isa>.cpp). Everything is in an unnamed namespace: nothing of
// it may be shared between translation units of different instruction sets.
#pragma once

#include <cstdint>

#include "filter/kernels/line_kernel.h"

namespace unecho::filter {
namespace {

// Lines that are asked for ahead of the digest that is decided. Processors follow up some ten to
// thirty at a time; what is asked for beyond is lost, or holds up all behind it.
constexpr unsigned kRequests = 20;

// A row's hash of a digest: the digest itself for row 0, this product for the others. Odd, and
// without small multiples in common, so that two digests that meet in one row do not in another.
constexpr std::uint64_t kRowFactor[kMostLinesOfKey] = {1, 0x9E3779B97F4A7C15, 0xD1B54A32D192ED03,
                                                       0xABC98388FB8FAC03};

inline std::uint64_t row_hash(std::uint64_t digest, unsigned row) noexcept {
    return row == 0 ? digest : (digest ^ digest >> 32) * kRowFactor[row];
}

// Number i of a row's hash, from 16 bits of it: one of the stored patterns, rotated.
inline std::uint64_t line_pattern(const LineView& view, std::uint64_t hash, unsigned i) noexcept {
    const std::uint64_t bits = hash >> 16 * i;
    const std::uint64_t pattern = view.patterns[bits % kLinePatterns];
    const std::uint64_t by = (bits >> 10 & 63) * kPatternBits >> 6;
    return (pattern << by | pattern >> (kPatternBits - by)) & ~kTagBits;
}

// The high half of a row's hash names its line. All lines of a digest are of one phase, that of
// the line of row 0, so that their ages turn together.
inline std::uint64_t line_number(const LineView& view, std::uint64_t hash, unsigned row,
                                 std::uint64_t& phase) noexcept {
    if (row == 0) {
        const std::uint64_t line = (hash >> 32) * view.line_count >> 32;
        phase = line & ((std::uint64_t{1} << view.phase_bits) - 1);
        return line;
    }
    return ((hash >> 32) * view.lines_a_phase >> 32) << view.phase_bits | phase;
}

template <unsigned M, unsigned k>
inline void find_places(const LineView& view, const std::uint64_t* digests, unsigned n,
                        LinePlaces& places) noexcept {
    for (unsigned i = 0; i < n; ++i) {
        for (unsigned row = 0; row < M; ++row) {
            const std::uint64_t hash = row_hash(digests[i], row);
            const std::uint64_t line = line_number(view, hash, row, places.phase[i]);
            places.word[row][i] = line * kLineWords;
            for (unsigned p = 0; p < k; ++p) {
                places.pattern[row][i * k + p] = line_pattern(view, hash, p);
            }
        }
    }
}

// Words that begin a run of k ages, each of which matches in all rows. Word w - 1 is one age older
// than word w, but for one place in the ring.
template <unsigned k>
inline unsigned runs_of(unsigned matches, const LinePhase& phase) noexcept {
    if (k == 1) {
        return matches;
    }
    const unsigned older = (matches << 1 | matches >> (kLineWords - 1)) & 0xFF;
    return matches & older & ~phase.no_run;
}

// The chance that a random key's patterns are covered where a digest lies: by age, all rows
// together; then the union of all runs, which the sum bounds. Word by word in a fixed order of
// operations, so that every kernel has the same bits. bits[row][w]: those set in words of this
// rotation.
template <unsigned M, unsigned k>
inline float chance_of(const unsigned (&bits)[M][kLineWords], unsigned no_run,
                       const float* coverage) noexcept {
    float covered[kLineWords];
    for (unsigned w = 0; w < kLineWords; ++w) {
        covered[w] = coverage[bits[0][w]];
        for (unsigned row = 1; row < M; ++row) {
            covered[w] *= coverage[bits[row][w]];
        }
    }
    float run[kLineWords];
    for (unsigned w = 0; w < kLineWords; ++w) {
        const float older = k == 1 ? 1.0F : covered[(w + kLineWords - 1) % kLineWords];
        run[w] = (no_run >> w & 1) != 0 ? 0.0F : covered[w] * older;
    }
    return ((run[0] + run[4]) + (run[2] + run[6])) + ((run[1] + run[5]) + (run[3] + run[7]));
}

template <typename V, unsigned M, unsigned k>
struct LinesOf {
    using Line = typename V::Line;

    const LineView& view;
    const LinePlaces& places;

    std::uint64_t* words(unsigned row, unsigned i) const noexcept {
        return view.lines + places.word[row][i];
    }

    // Words that match in all rows.
    unsigned matches(unsigned i, Line tags, Line (&patterns)[M]) const noexcept {
        unsigned all = 0xFF;
        for (unsigned row = 0; row < M; ++row) {
            patterns[row] = V::template pattern<k>(&places.pattern[row][i * k]);
            all &= V::matches(V::load(words(row, i)), tags, patterns[row]);
        }
        return all;
    }

    // Stale words become empty words of the present rotation. Lines are read again: two rows may
    // have one line.
    void write(unsigned i, bool insert, const LinePhase& phase, Line tags,
               const Line (&patterns)[M]) const noexcept {
        for (unsigned row = 0; row < M; ++row) {
            std::uint64_t* const at = words(row, i);
            const Line fresh = V::refreshed(V::load(at), tags);
            V::store(at, V::inserted(fresh, patterns[row], phase, insert));
        }
    }

    float chance(unsigned i, const LinePhase& phase, Line tags) const noexcept {
        const std::uint64_t* at[M];
        for (unsigned row = 0; row < M; ++row) {
            at[row] = words(row, i);
        }
        return V::template chance<M, k>(at, tags, phase.no_run, view.coverage);
    }
};

// Asks memory for lines while a burst is decided: for its own, so many ahead, and when that was
// done for all of them, for every other digest for those of the burst behind it. A line takes
// memory about as long as two digests take a kernel: more at a time would wait for it here.
template <unsigned M>
struct LineRequests {
    static constexpr unsigned kAhead = (kRequests + M - 1) / M;

    const LineView& view;
    const LineBurst& burst;
    unsigned own;
    unsigned next;

    LineRequests(const LineView& v, const LineBurst& b) noexcept
        : view(v), burst(b), own(b.requested), next(b.next_requested) {
        for (; own < kAhead && own < burst.n; ++own) {
            request(*burst.places, own);
        }
    }

    // Before number i is decided.
    [[gnu::always_inline]] void step(unsigned i) noexcept {
        if (own < burst.n) {
            request(*burst.places, own++);
        } else if ((i & 1) != 0 && burst.next != nullptr && next < burst.next_n) {
            request(*burst.next, next++);
        }
    }

    // Inlined: g++ takes a function that does nothing but this for one without an effect.
    [[gnu::always_inline]] void request(const LinePlaces& places, unsigned i) const noexcept {
        for (unsigned row = 0; row < M; ++row) {
            __builtin_prefetch(view.lines + places.word[row][i], 1);
        }
    }
};

// An insertion sets a bit of the youngest word in one of the rows.
inline std::uint64_t changes(bool insert, unsigned matches, const LinePhase& phase) noexcept {
    return static_cast<std::uint64_t>(insert & ((matches & phase.youngest) == 0));
}

template <typename V, unsigned M, unsigned k>
void find(const LineView& view, const std::uint64_t* digests, unsigned n,
          LinePlaces& places) noexcept {
    V::template find_places<M, k>(view, digests, n, places);
}

template <typename V, unsigned M, unsigned k>
LineAnswers test_burst(const LineView& view, const LineBurst& burst) noexcept {
    const LinesOf<V, M, k> lines{view, *burst.places};
    LineRequests<M> requests(view, burst);
    std::uint64_t echoes = 0;
    std::uint64_t changed = 0;
    for (unsigned i = 0; i < burst.n; ++i) {
        requests.step(i);
        const LinePhase& phase = view.phases[burst.places->phase[i]];
        const auto tags = V::load(phase.tags);
        typename V::Line patterns[M];
        const unsigned matches = lines.matches(i, tags, patterns);
        const bool echo = runs_of<k>(matches, phase) != 0;
        const bool insert = !echo | view.refresh;
        lines.write(i, insert, phase, tags, patterns);
        echoes |= std::uint64_t{echo} << i;
        changed += changes(insert, matches, phase);
    }
    return {echoes, 0, changed, requests.next};
}

template <typename V, unsigned M, unsigned k>
LineAnswers judge_burst(const LineView& view, const LineBurst& burst, const float* limits,
                        unsigned stride) noexcept {
    const LinesOf<V, M, k> lines{view, *burst.places};
    LineRequests<M> requests(view, burst);
    std::uint64_t echoes = 0;
    std::uint64_t doubts = 0;
    std::uint64_t changed = 0;
    bool judging = false;
    for (unsigned i = 0; i < burst.n; ++i) {
        requests.step(i);
        const LinePhase& phase = view.phases[burst.places->phase[i]];
        const auto tags = V::load(phase.tags);
        typename V::Line patterns[M];
        const unsigned matches = lines.matches(i, tags, patterns);
        const bool match = runs_of<k>(matches, phase) != 0;
        bool echo = match;
        // From a burst's first match on, whether or not the others match: at 50 % echoes a branch
        // that is mispredicted costs more, and a burst without echoes needs none of it.
        judging = match | (V::kChanceIsCheap & judging);
        if (judging) {
            echo &= lines.chance(i, phase, tags) <= limits[i * stride];
        }
        const bool insert = !echo | view.refresh;
        lines.write(i, insert, phase, tags, patterns);
        changed += changes(insert, matches, phase);
        echoes |= std::uint64_t{echo} << i;
        doubts |= std::uint64_t{match != echo} << i;
    }
    return {echoes, doubts, changed, requests.next};
}

template <typename V, unsigned M, unsigned k>
LineProbe probe(const LineView& view, std::uint64_t digest) noexcept {
    LinePlaces places;
    V::template find_places<M, k>(view, &digest, 1, places);
    const LinesOf<V, M, k> lines{view, places};
    const LinePhase& phase = view.phases[places.phase[0]];
    const auto tags = V::load(phase.tags);
    typename V::Line patterns[M];
    const bool match = runs_of<k>(lines.matches(0, tags, patterns), phase) != 0;
    return {match, lines.chance(0, phase, tags)};
}

template <typename V, unsigned M, unsigned k>
bool insert(const LineView& view, std::uint64_t digest) noexcept {
    LinePlaces places;
    V::template find_places<M, k>(view, &digest, 1, places);
    const LinesOf<V, M, k> lines{view, places};
    const LinePhase& phase = view.phases[places.phase[0]];
    const auto tags = V::load(phase.tags);
    typename V::Line patterns[M];
    const unsigned matches = lines.matches(0, tags, patterns);
    lines.write(0, true, phase, tags, patterns);
    return changes(true, matches, phase) != 0;
}

template <typename V, unsigned M, unsigned k>
constexpr LineKernel line_kernel() noexcept {
    return {&find<V, M, k>, &test_burst<V, M, k>, &judge_burst<V, M, k>, &probe<V, M, k>,
            &insert<V, M, k>};
}

template <typename V>
constexpr LineKernels line_kernels() noexcept {
    return {{{line_kernel<V, 1, 1>(), line_kernel<V, 2, 1>(), line_kernel<V, 3, 1>(),
              line_kernel<V, 4, 1>()},
             {line_kernel<V, 1, 2>(), line_kernel<V, 2, 2>(), line_kernel<V, 3, 2>(),
              line_kernel<V, 4, 2>()}}};
}

}  // namespace
}  // namespace unecho::filter
