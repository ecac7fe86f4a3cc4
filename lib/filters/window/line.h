// SPDX-License-Identifier: BSD-3-Clause
// Line filter: an age-partitioned blocked Bloom filter that keeps all ages of a key in one cache
// line. A line is 8 words, one for each of the k + l = 8 ages. A word is 62 bits and the number of
// its rotation, modulo 4. A key has M lines, anywhere in the table. An insertion sets b distinct
// bits in the words of the k youngest ages of each line. An age matches iff its word does in all M
// lines; a digest is an echo iff k consecutive ages match.
//
// Guarantee: a digest inserted in generation j is an echo through generation j + l. From j + l + k
//   on, without another insertion, it is new, apart from false positives.
// Cost: M independent cache lines a test-and-insert, read and written once; 64 bytes a line. A
//   shift changes a few words of state; nothing is cleared. Background visits reach every line once
//   in 14 generations, kVisits at a time.
// Accuracy: filters/sizing/window/line.h has it for loads of gamma keys a line and generation
//   (Poisson). All words of a line share its load, so the fullest lines determine the rate. Lower
//   rates take more lines a key: size_line() says how many.
// Weakness: in cache at equal memory, M = 1 has 2.6 to 6 times the false positives of an APBBF.
// References: Age-Partitioned Bloom Filters, sections 5 and 6, for ages and query.
//
// Ageing. Word w is the youngest in generations n = w (mod 8). Its rotation is then (n - w) / 8,
// and its tag is that modulo 4. A word with another tag is stale: its bits belong to a forgotten
// age. The next access replaces it by an empty word of the present rotation. A stale word would
// look current again in the fourth rotation after its own, at least 25 generations after the line's
// last access. Background visits prevent that.
//
// Phases. Line i has phase i mod S. Time is in ticks, S to a generation. Phase s shifts in ticks t
// with t + s = 0 (mod S). The loads of lines are thus spread over a generation, and there is no
// moment at which all lines are fullest: 1 to 3 % less memory, and less slack.
//
// The caller's generation (Moment) is a tick: window / (l S) long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/int128.h"
#include "base/result.h"
#include "filters/confidence_filter.h"
#include "filters/filter.h"
#include "filters/hash/digest.h"
#include "filters/kernels/select.h"
#include "filters/prepared_burst.h"
#include "filters/storage.h"

namespace unecho::filter {

struct LineSpec {
    unsigned M = 1;           // lines of a key: 1 to 4
    unsigned k = 2;           // ages written by an insertion: 1 or 2; l = 8 - k
    unsigned b = 0;           // bits of a key in a word: 1 to 16
    unsigned phases = 1;      // S: 1, 2, 4, 8 or 16
    std::uint64_t lines = 0;  // a multiple of phases, at most kMostLines
    EchoPolicy policy = EchoPolicy::kFixed;
    Isa isa = Isa::kScalar;
};

class LineParams {
  public:
    static constexpr std::uint64_t kMostLines = (std::uint64_t{1} << 28) - 1;
    static constexpr unsigned kMostPhases = 16;
    static constexpr unsigned kMaxBitsOfKey = 16;

    // Errc::kInvalidArgument, also for an instruction set that the machine lacks.
    static Result<LineParams> make(const LineSpec& spec);

    [[nodiscard]] unsigned M() const noexcept { return spec_.M; }
    [[nodiscard]] unsigned k() const noexcept { return spec_.k; }
    [[nodiscard]] unsigned l() const noexcept { return kLineWords - spec_.k; }
    [[nodiscard]] unsigned b() const noexcept { return spec_.b; }
    [[nodiscard]] unsigned phases() const noexcept { return spec_.phases; }
    [[nodiscard]] std::uint64_t lines() const noexcept { return spec_.lines; }
    [[nodiscard]] EchoPolicy policy() const noexcept { return spec_.policy; }
    [[nodiscard]] Isa isa() const noexcept { return spec_.isa; }

  private:
    explicit LineParams(const LineSpec& spec) noexcept : spec_(spec) {}
    LineSpec spec_;
};

// Return the chance that a word with c bits set covers a random pattern of b bits.
float line_coverage(unsigned c, unsigned b) noexcept;

class LineFilter {
  public:
    // Lines visited by one maintain().
    static constexpr unsigned kVisits = 8;

    [[nodiscard]] static std::size_t bytes(const LineParams& params) noexcept {
        return table_bytes() + params.lines() * kCacheLine;
    }
    // The part of it that does not hold lines.
    [[nodiscard]] static constexpr std::size_t table_bytes() noexcept { return sizeof(Tables); }

    LineFilter(const LineParams& params, std::span<std::byte> memory,
               Contents contents = Contents::kZero) noexcept;
    [[nodiscard]] static bool is_consistent(const LineParams& params,
                                            std::span<std::byte> memory) noexcept;

    void prefetch(Digest digest) const noexcept;
    bool test_and_insert(Digest digest) noexcept;
    std::uint64_t test_and_insert_burst(std::span<const Digest> digests) noexcept;
    Answers test_and_insert_burst(std::span<const Digest> digests, ChanceLimits limits) noexcept;

    // The same in steps, for a caller that does other work in between. A prepared burst stays valid
    // whatever is tested and however time advances. prefetch_lines() requests the lines of this
    // many more digests, so that the caller can match the speed of memory. next: the following
    // prepared burst, or null; some of its lines are prefetched meanwhile.
    void prepare(std::span<const Digest> digests, PreparedBurst& burst) const noexcept;
    void prefetch_lines(PreparedBurst& burst, unsigned digests) const noexcept;
    std::uint64_t test_and_insert_burst(const PreparedBurst& burst, PreparedBurst* next) noexcept;
    Answers test_and_insert_burst(const PreparedBurst& burst, ChanceLimits limits,
                                  PreparedBurst* next) noexcept;

    [[nodiscard]] float chance(Digest digest) const noexcept;

    // Moments are in ticks. After k + l generations without a call everything is forgotten.
    void advance(Moment moment) noexcept;
    void clear() noexcept;

    // Do a step of the background visits. Call it between bursts, also when there is no traffic.
    // advance() does whatever is still due when the next tick comes.
    void maintain() noexcept {
        if (const std::uint64_t due = state_->visits_due; due != 0) {
            visit(due < kVisits ? due : kVisits);
        }
    }

    // The two halves of test_and_insert, without a policy.
    [[nodiscard]] bool query(Digest digest) const noexcept;
    void insert(Digest digest) noexcept;

    // Insertions of the present tick that set a bit of a youngest word.
    [[nodiscard]] std::uint64_t load() const noexcept { return state_->load; }

    [[nodiscard]] const LineParams& params() const noexcept { return params_; }
    [[nodiscard]] const FilterCounters& counters() const noexcept { return counters_; }
    [[nodiscard]] std::uint64_t visits_due() const noexcept { return state_->visits_due; }

  private:
    struct State {
        std::uint64_t generation;  // the caller's; a tick
        std::uint64_t tick;        // our tick: a skip advances it by at most k + l generations
        std::uint64_t load;
        std::uint64_t next_visit;  // line number
        std::uint64_t visits_due;
        std::uint64_t visit_parts;  // fraction of a visit carried over
        WriteGuard turn;
    };
    struct alignas(kCacheLine) Tables {
        State state;
        std::uint64_t patterns[kLinePatterns];
        alignas(kCacheLine) float coverage[kLineWords * 8];
        LinePhase phases[LineParams::kMostPhases];
        std::byte unused[1024];  // keeps the lines in place for stored states of earlier versions
    };

    // Background visits reach all lines in this many generations. The longest skip adds 8, a line's
    // place in its lap two ticks: within the 24 generations allowed between visits.
    static constexpr unsigned kLapGenerations = 14;

    void count(const LineAnswers& answers, const PreparedBurst& burst,
               PreparedBurst* next) noexcept;
    void turn(std::uint64_t ticks) noexcept;
    void set_phases() noexcept;
    void visit(std::uint64_t lines) noexcept;

    LineParams params_;
    LineKernel kernel_;
    LineView view_;
    LinePhase* phases_;
    State* state_;
    FilterCounters counters_;
    bool matched_ = false;  // the last judged burst had a match
};

static_assert(ConfidenceFilter<LineFilter>);
static_assert(RestorableFilter<LineFilter, LineParams>);

}  // namespace unecho::filter
