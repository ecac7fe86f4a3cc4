// SPDX-License-Identifier: BSD-3-Clause
// The burst loop of the line filter over a few operations on a whole line, which each instruction
// set provides as a struct V (kernels/line_<isa>.cpp). Everything is in an unnamed namespace:
// translation units of different instruction sets must not share any of it.
#pragma once

#include <cstdint>

#include "base/prefetch.h"
#include "filters/kernels/line_kernel.h"
#include "filters/kernels/requests.h"

namespace unecho::filter {
namespace {

// Factors of a row's hash of a digest; row 0 uses the digest itself. They are odd and have no small
// common multiples, so that two digests that collide in one row do not collide in another.
constexpr std::uint64_t kRowFactor[kMaxLinesOfKey] = {1, 0x9E3779B97F4A7C15, 0xD1B54A32D192ED03,
                                                      0xABC98388FB8FAC03};

inline std::uint64_t row_hash(std::uint64_t digest, unsigned row) noexcept {
    return row == 0 ? digest : (digest ^ digest >> 32) * kRowFactor[row];
}

// Return pattern i of a row's hash, drawn from 16 of its bits: a stored pattern, rotated.
inline std::uint64_t line_pattern(const LineView& view, std::uint64_t hash, unsigned i) noexcept {
    const std::uint64_t bits = hash >> 16 * i;
    const std::uint64_t pattern = view.patterns[bits % kLinePatterns];
    const std::uint64_t by = (bits >> 10 & 63) * kPatternBits >> 6;
    return (pattern << by | pattern >> (kPatternBits - by)) & ~kTagBits;
}

// Return the line of a row's hash, from its high half. All lines of a digest have the phase of its
// line in row 0, so that their ages shift together.
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

// Return the words that are the youngest of k consecutive ages that match in all rows. Word w - 1
// is one age older than word w, except for the word after the youngest.
template <unsigned k>
constexpr unsigned runs_of(unsigned matches, unsigned youngest) noexcept {
    if (k == 1) {
        return matches;
    }
    const unsigned older = (matches << 1 | matches >> (kLineWords - 1)) & 0xFF;
    return matches & older & ~(1U << (youngest + 1) % kLineWords);
}

// A verdict: the words to write (a bit each), whether the digest matches, and whether an insertion
// sets a bit of the youngest word in some row. It follows from the words that match in all rows. It
// is looked up, because computing it takes as many instructions as the rest of a digest.
constexpr unsigned kWrites = 0xFF;
constexpr unsigned kMatches = 0x100;
constexpr unsigned kChanges = 0x200;

struct VerdictTable {
    std::uint16_t by_youngest[kLineWords][1U << kLineWords];

    unsigned of(unsigned matches, const LinePhase& phase) const noexcept {
        return by_youngest[phase.youngest][matches];
    }
};

// inserts: true if matches are inserted too: echoes under policy refresh, and doubts always.
template <unsigned k, bool inserts>
constexpr VerdictTable kVerdicts = [] {
    VerdictTable table{};
    for (unsigned youngest = 0; youngest < kLineWords; ++youngest) {
        const unsigned older = (youngest + kLineWords - 1) % kLineWords;
        const unsigned written = 1U << youngest | (k == 1 ? 0 : 1U << older);
        for (unsigned matches = 0; matches < 1U << kLineWords; ++matches) {
            const bool match = runs_of<k>(matches, youngest) != 0;
            const bool insert = inserts || !match;
            const bool change = insert && (matches >> youngest & 1) == 0;
            table.by_youngest[youngest][matches] = static_cast<std::uint16_t>(
                (insert ? written : 0) | (match ? kMatches : 0) | (change ? kChanges : 0));
        }
    }
    return table;
}();

template <unsigned k>
inline const VerdictTable& verdicts_by(bool refresh) noexcept {
    return refresh ? kVerdicts<k, true> : kVerdicts<k, false>;
}

// A factor of 0 for one word and 1 for the others. Replaces a branch that would be mispredicted.
struct AllBut {
    float one[kLineWords][kLineWords];
};
constexpr AllBut kAllBut = [] {
    AllBut all{};
    for (unsigned but = 0; but < kLineWords; ++but) {
        for (unsigned w = 0; w < kLineWords; ++w) {
            all.one[but][w] = w == but ? 0.0F : 1.0F;
        }
    }
    return all;
}();

// Return the chance that a random key's patterns are covered where a digest lies. First the chance
// by age, in all rows together; then the union of all runs, bounded by their sum. The order of
// float operations is fixed: every kernel returns the same bits. bits: those set in current words.
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
        run[w] = covered[w];
        if (k != 1) {
            run[w] *= covered[(w + kLineWords - 1) % kLineWords];
            run[w] *= kAllBut.one[__builtin_ctz(no_run)][w];
        }
    }
    return ((run[0] + run[4]) + (run[2] + run[6])) + ((run[1] + run[5]) + (run[3] + run[7]));
}

struct LineChances {
    float a;
    float b;
};

template <typename V, unsigned M, unsigned k>
struct LinesOf {
    using Line = typename V::Line;

    LineView view;
    const LinePlaces& places;
    const VerdictTable& verdicts = verdicts_by<k>(view.refresh);

    std::uint64_t* words(unsigned row, unsigned i) const noexcept {
        return view.lines + places.word[row][i];
    }

    const LinePhase& phase(unsigned i) const noexcept { return view.phases[places.phase[i]]; }

    // The lines of a digest, with stale words replaced by empty current ones, and its patterns.
    struct At {
        Line fresh[M];
        Line patterns[M];
    };

    // Return the words that match in all rows.
    unsigned matches(unsigned i, const LinePhase& phase, At& at) const noexcept {
        const Line tags = V::load(phase.tags);
        unsigned all = 0xFF;
        for (unsigned row = 0; row < M; ++row) {
            at.patterns[row] = V::template pattern<k>(&places.pattern[row][i * k]);
            all &= V::matches(V::load(words(row, i)), tags, at.patterns[row], at.fresh[row]);
        }
        return all;
    }

    // Write the patterns to all lines. If two rows share a line, it receives both patterns.
    void write(unsigned i, unsigned verdict, const At& at) const noexcept {
        for (unsigned row = 0; row < M; ++row) {
            V::store(words(row, i), V::inserted(at.fresh[row], at.patterns[row], verdict));
        }
        if (M > 1 && shares_line(i)) [[unlikely]] {
            for (unsigned row = 0; row < M; ++row) {
                V::store(words(row, i), at.fresh[row]);
            }
            for (unsigned row = 0; row < M; ++row) {
                const Line written = V::load(words(row, i));
                V::store(words(row, i), V::inserted(written, at.patterns[row], verdict));
            }
        }
    }

    bool shares_line(unsigned i) const noexcept {
        bool shared = false;
        for (unsigned row = 1; row < M; ++row) {
            for (unsigned other = 0; other < row; ++other) {
                shared |= places.word[row][i] == places.word[other][i];
            }
        }
        return shared;
    }

    // Return true if a digest from `begin` on shares a line with digest i.
    bool are_met_again(unsigned i, unsigned begin, unsigned end) const noexcept {
        bool met = false;
        for (unsigned row = 0; row < M; ++row) {
            const std::uint64_t word = places.word[row][i];
            for (unsigned other = 0; other < M; ++other) {
                for (unsigned j = begin; j < end; ++j) {
                    met |= places.word[other][j] == word;
                }
            }
        }
        return met;
    }
};

// Prefetches lines while a burst is decided: before each digest, those of one later digest. First
// kAhead digests ahead in this burst, then the digests of the following burst.
template <unsigned M>
struct LineRequests {
    static constexpr unsigned kAhead = (kRequests + M - 1) / M;

    std::uint64_t* lines;
    const LineBurst* burst;
    unsigned next_requested;  // in the following burst, before prefetching turned to it
    const LinePlaces* from;   // whose lines are prefetched now
    unsigned at;              // number of the next digest
    unsigned end;
    unsigned pace = 1;

    LineRequests(const LineView& view, const LineBurst& b) noexcept
        : lines(view.lines),
          burst(&b),
          next_requested(b.next_requested),
          from(b.places),
          at(b.requested),
          end(b.n) {
        for (; at < kAhead && at < end; ++at) {
            request();
        }
    }

    // Called before a digest is decided.
    [[gnu::always_inline]] void step() noexcept {
        if (at >= end) [[unlikely]] {
            go_on();
        }
        request();
        at += pace;
    }

    // Turn to the following burst. After that one, keep prefetching an existing line, to no effect.
    [[gnu::always_inline]] void go_on() noexcept {
        if (from == burst->places && next_requested < burst->next_n) {
            from = burst->next;
            at = next_requested;
            end = burst->next_n;
        } else {
            next_requested = requested_of_next();
            from = burst->places;
            at = 0;
            end = ~0U;
            pace = 0;
        }
    }

    // Return how many digests of the following burst are prefetched by now.
    unsigned requested_of_next() const noexcept {
        return from == burst->next ? at : next_requested;
    }

    // Must be inlined: g++ removes a call of a function that only prefetches.
    [[gnu::always_inline]] void request() const noexcept {
        for (unsigned row = 0; row < M; ++row) {
            prefetch_line_for_write<kIntoL2>(lines + from->word[row][at]);
        }
    }
};

struct alignas(64) Verdicts {
    std::uint16_t of[kMaxLineDigests];
};

// Return the digests, of n, whose verdict has a bit set.
inline std::uint64_t which_one_by_one(const Verdicts& verdicts, unsigned n, unsigned bit) noexcept {
    std::uint64_t which = 0;
    for (unsigned i = 0; i < n; ++i) {
        which |= std::uint64_t{(verdicts.of[i] & bit) != 0} << i;
    }
    return which;
}

inline unsigned bits_in(std::uint64_t mask) noexcept {
    return static_cast<unsigned>(__builtin_popcountll(mask));
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
    Verdicts verdicts;
    for (unsigned i = 0; i < burst.n; ++i) {
        requests.step();
        const LinePhase& phase = lines.phase(i);
        typename LinesOf<V, M, k>::At at;
        const unsigned verdict = lines.verdicts.of(lines.matches(i, phase, at), phase);
        lines.write(i, verdict, at);
        verdicts.of[i] = static_cast<std::uint16_t>(verdict);
    }
    const std::uint64_t echoes = V::which(verdicts, burst.n, kMatches);
    const std::uint64_t changed = V::which(verdicts, burst.n, kChanges);
    return {echoes, 0, bits_in(changed), requests.requested_of_next()};
}

// Results of a burst, one bit for each digest.
struct Judged {
    std::uint64_t matches = 0;
    std::uint64_t doubts = 0;   // a subset of matches
    std::uint64_t changed = 0;  // insertions that set a bit of a youngest word

    void forget_from(unsigned i) noexcept {
        const std::uint64_t kept = (std::uint64_t{1} << i) - 1;
        matches &= kept;
        doubts &= kept;
        changed &= kept;
    }
};

// Judge each match when it is found, from number `begin` on.
template <typename V, unsigned M, unsigned k>
void judge_at_once(const LinesOf<V, M, k>& lines, LineRequests<M>& requests, unsigned begin,
                   unsigned end, const float* limits, unsigned stride, Judged& judged) noexcept {
    for (unsigned i = begin; i < end; ++i) {
        requests.step();
        const LinePhase& phase = lines.phase(i);
        typename LinesOf<V, M, k>::At at;
        const unsigned matches = lines.matches(i, phase, at);
        unsigned verdict = lines.verdicts.of(matches, phase);
        bool doubt = false;
        if ((verdict & kMatches) != 0) {
            doubt = !(V::template chance<M, k>(at.fresh, phase.no_run, lines.view.coverage) <=
                      limits[i * stride]);
            verdict = doubt ? kVerdicts<k, true>.of(matches, phase) : verdict;
        }
        lines.write(i, verdict, at);
        judged.matches |= std::uint64_t{(verdict & kMatches) != 0} << i;
        judged.doubts |= std::uint64_t{doubt} << i;
        judged.changed |= std::uint64_t{(verdict & kChanges) != 0} << i;
    }
}

// The lines of a burst's digests before they were written, with stale words emptied.
template <unsigned M>
struct alignas(64) LinesBefore {
    std::uint64_t words[kMaxLineDigests][M][kLineWords];
};

// Judges matches after the whole burst was tested as if none were a doubt. This avoids a branch per
// digest, mispredicted at 50 % echoes, and computes chances for matches only. Doubts are rare; the
// results that one would have changed are computed again.
template <typename V, unsigned M, unsigned k>
struct JudgeLater {
    const LinesOf<V, M, k>& lines;
    LineRequests<M>& requests;
    const LineBurst& burst;
    const float* limits;
    unsigned stride;
    LinesBefore<M>& before;  // filled from the first match on

    void judge(Judged& judged) noexcept {
        test(judged);
        judged.doubts = doubts_of(judged.matches);
        if (judged.doubts != 0 && !lines.view.refresh) [[unlikely]] {
            insert_doubts(judged);
        }
    }

    void test(Judged& judged) noexcept {
        Verdicts verdicts;
        unsigned i = 0;
        if (!burst.matches_expected) {
            i = test_to_match(verdicts);
        }
        keep_and_test(i, verdicts);
        judged.matches = V::which(verdicts, burst.n, kMatches);
        judged.changed = V::which(verdicts, burst.n, kChanges);
    }

    // Test up to the first match, and save its lines. Return the number of digests tested.
    unsigned test_to_match(Verdicts& verdicts) noexcept {
        const LinesOf<V, M, k> these = lines;
        LineRequests<M> asks = requests;
        unsigned i = 0;
        for (bool match = false; !match && i < burst.n; ++i) {
            match = (test_one(these, asks, i, false, verdicts) & kMatches) != 0;
        }
        requests = asks;
        return i;
    }

    // Test from number i on, and save the lines of every digest.
    void keep_and_test(unsigned i, Verdicts& verdicts) noexcept {
        const LinesOf<V, M, k> these = lines;
        LineRequests<M> asks = requests;
        for (; i < burst.n; ++i) {
            test_one(these, asks, i, true, verdicts);
        }
        requests = asks;
    }

    // keeps: always save the lines; otherwise only of a match.
    [[gnu::always_inline]] unsigned test_one(const LinesOf<V, M, k>& these, LineRequests<M>& asks,
                                             unsigned i, bool keeps, Verdicts& verdicts) noexcept {
        asks.step();
        const LinePhase& phase = these.phase(i);
        typename LinesOf<V, M, k>::At at;
        const unsigned verdict = these.verdicts.of(these.matches(i, phase, at), phase);
        if (keeps || (verdict & kMatches) != 0) {
            for (unsigned row = 0; row < M; ++row) {
                V::store(before.words[i][row], at.fresh[row]);
            }
        }
        these.write(i, verdict, at);
        verdicts.of[i] = static_cast<std::uint16_t>(verdict);
        return verdict;
    }

    // Judges two at a time; the last one of an odd number twice.
    std::uint64_t doubts_of(std::uint64_t matches) const noexcept {
        std::uint64_t doubts = 0;
        while (matches != 0) {
            const unsigned a = next_of(matches);
            const unsigned b = matches == 0 ? a : next_of(matches);
            typename V::Line lines_a[M];
            typename V::Line lines_b[M];
            for (unsigned row = 0; row < M; ++row) {
                lines_a[row] = V::load(before.words[a][row]);
                lines_b[row] = V::load(before.words[b][row]);
            }
            const LineChances chances =
                V::template chances<M, k>(lines_a, lines_b, lines.phase(a).no_run,
                                          lines.phase(b).no_run, lines.view.coverage);
            doubts |= std::uint64_t{!(chances.a <= limits[a * stride])} << a;
            doubts |= std::uint64_t{!(chances.b <= limits[b * stride])} << b;
        }
        return doubts;
    }

    static unsigned next_of(std::uint64_t& bits) noexcept {
        const auto next = static_cast<unsigned>(__builtin_ctzll(bits));
        bits &= bits - 1;
        return next;
    }

    // Insert the doubts. If no later digest shares a line with a doubt, inserting it late has the
    // same effect. Otherwise all later digests are undone and judged again.
    void insert_doubts(Judged& judged) noexcept {
        for (std::uint64_t doubts = judged.doubts; doubts != 0;) {
            const unsigned i = next_of(doubts);
            const bool again = lines.are_met_again(i, i + 1, burst.n);
            if (again) {
                restore(i + 1);
                judged.forget_from(i + 1);
            }
            const LinePhase& phase = lines.phase(i);
            typename LinesOf<V, M, k>::At at;
            const unsigned verdict = kVerdicts<k, true>.of(lines.matches(i, phase, at), phase);
            lines.write(i, verdict, at);
            judged.changed |= std::uint64_t{(verdict & kChanges) != 0} << i;
            if (again) {
                judge_at_once(lines, requests, i + 1, burst.n, limits, stride, judged);
                return;
            }
        }
    }

    void restore(unsigned begin) const noexcept {
        for (unsigned i = burst.n; i-- > begin;) {
            for (unsigned row = 0; row < M; ++row) {
                V::store(lines.words(row, i), V::load(before.words[i][row]));
            }
        }
    }
};

template <typename V, unsigned M, unsigned k>
LineAnswers judge_burst(const LineView& view, const LineBurst& burst, const float* limits,
                        unsigned stride) noexcept {
    const LinesOf<V, M, k> lines{view, *burst.places};
    LineRequests<M> requests(view, burst);
    Judged judged;
    if constexpr (V::kJudgesLater) {
        LinesBefore<M> before;
        JudgeLater<V, M, k>{lines, requests, burst, limits, stride, before}.judge(judged);
    } else {
        judge_at_once(lines, requests, 0, burst.n, limits, stride, judged);
    }
    return {judged.matches & ~judged.doubts, judged.doubts, bits_in(judged.changed),
            requests.requested_of_next()};
}

template <typename V, unsigned M, unsigned k>
LineProbe probe(const LineView& view, std::uint64_t digest) noexcept {
    LinePlaces places;
    V::template find_places<M, k>(view, &digest, 1, places);
    const LinesOf<V, M, k> lines{view, places};
    const LinePhase& phase = lines.phase(0);
    typename LinesOf<V, M, k>::At at;
    const bool match = runs_of<k>(lines.matches(0, phase, at), phase.youngest) != 0;
    return {match, V::template chance<M, k>(at.fresh, phase.no_run, view.coverage)};
}

template <typename V, unsigned M, unsigned k>
bool insert(const LineView& view, std::uint64_t digest) noexcept {
    LinePlaces places;
    V::template find_places<M, k>(view, &digest, 1, places);
    const LinesOf<V, M, k> lines{view, places};
    const LinePhase& phase = lines.phase(0);
    typename LinesOf<V, M, k>::At at;
    const unsigned verdict = kVerdicts<k, true>.of(lines.matches(0, phase, at), phase);
    lines.write(0, verdict, at);
    return (verdict & kChanges) != 0;
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
