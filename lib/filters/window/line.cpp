// SPDX-License-Identifier: BSD-3-Clause
#include "filters/window/line.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/prefetch.h"
#include "filters/kernels/line_body-inl.h"

namespace unecho::filter {
namespace {

// Return pattern `number`: b distinct bits, the same in every build and on every machine.
std::uint64_t pattern_number(unsigned number, unsigned b) noexcept {
    std::uint64_t pattern = 0;
    for (std::uint64_t draw = std::uint64_t{number} << 32; std::popcount(pattern) < int(b);
         ++draw) {
        pattern |= std::uint64_t{1} << reduce(remix(draw, b), kPatternBits);
    }
    return pattern;
}

// The chance that two keys have the same pattern: the same stored one and the same rotation. Six
// bits of the hash select one of 62 rotations; two of these have two values each.
constexpr double kSamePattern = (60 * 1 + 2 * 4) / (64.0 * 64 * kLinePatterns);

// Return how many keys, of b distinct bits each, set c bits; rounded up.
unsigned keys_of(unsigned c, unsigned b) noexcept {
    double clear = kPatternBits;
    unsigned keys = 0;
    while (kPatternBits - clear < c - 0.5) {
        clear *= 1 - double(b) / kPatternBits;
        ++keys;
    }
    return keys;
}

LineBurst line_burst(const PreparedBurst& burst, const PreparedBurst* next,
                     bool matches_expected = false) noexcept {
    return {.places = &burst.line,
            .n = burst.count,
            .requested = burst.requested,
            .next = next == nullptr ? nullptr : &next->line,
            .next_requested = next == nullptr ? 0 : next->requested,
            .next_n = next == nullptr ? 0 : next->count,
            .matches_expected = matches_expected};
}

}  // namespace

// The pattern is that of a key in the word, or its b bits happen to be among the c set ones.
float line_coverage(unsigned c, unsigned b) noexcept {
    if (c < b) {
        return 0;
    }
    double among = 1;
    for (unsigned i = 0; i < b; ++i) {
        among *= double(c - i) / double(kPatternBits - i);
    }
    return static_cast<float>(among + (1 - among) * keys_of(c, b) * kSamePattern);
}

LineFilter::LineFilter(const LineParams& params, std::span<std::byte> memory,
                       Contents contents) noexcept
    : params_(params),
      kernel_(kernels_for<LineKernels>(params.isa()).of[params.k() - 1][params.M() - 1]) {
    Tables& tables = *carve<Tables>(memory, 0, 1);
    state_ = &tables.state;
    if (contents == Contents::kZero) {
        state_->tick = std::uint64_t{kLineWords} * params.phases();
    } else {
        state_->load += kMaxBurst;  // an interrupted burst may have written this many
    }
    for (unsigned number = 0; number < kLinePatterns; ++number) {
        tables.patterns[number] = pattern_number(number, params.b());
    }
    for (unsigned c = 0; c < std::size(tables.coverage); ++c) {
        // planted: chance-understated
        tables.coverage[c] = line_coverage(std::min(c, kPatternBits), params.b());
    }
    phases_ = tables.phases;
    view_ = {.lines = carve<std::uint64_t>(memory, sizeof(Tables), params.lines() * kLineWords),
             .patterns = tables.patterns,
             .coverage = tables.coverage,
             .phases = phases_,
             .line_count = static_cast<std::uint32_t>(params.lines()),
             .lines_a_phase = static_cast<std::uint32_t>(params.lines() / params.phases()),
             .phase_bits = static_cast<std::uint32_t>(std::countr_zero(params.phases())),
             .refresh = params.policy() == EchoPolicy::kRefresh};
    set_phases();
}

bool LineFilter::is_consistent(const LineParams& params, std::span<std::byte> memory) noexcept {
    const State& state = carve<Tables>(memory, 0, 1)->state;
    // planted: torn-line-turn-accepted
    return !state.turn.is_interrupted() &&
           state.tick >= std::uint64_t{kLineWords} * params.phases() &&
           state.next_visit < params.lines();
}

void LineFilter::set_phases() noexcept {
    const unsigned phases = params_.phases();
    for (unsigned s = 0; s < phases; ++s) {
        const std::uint64_t n = (state_->tick + s) / phases;
        LinePhase& phase = phases_[s];
        for (unsigned w = 0; w < kLineWords; ++w) {
            const std::uint64_t rotation = (n - w) / kLineWords;
            phase.tags[w] = rotation % 4 << kPatternBits;
        }
        phase.youngest = static_cast<std::uint32_t>(n % kLineWords);
        phase.no_run = params_.k() == 1 ? 0 : 1U << (n + 1) % kLineWords;
    }
}

void LineFilter::advance(Moment moment) noexcept {
    if (moment.generation > state_->generation) [[unlikely]] {
        const std::uint64_t ticks = moment.generation - state_->generation;
        state_->turn.begin();
        state_->generation = moment.generation;
        turn(ticks);
        state_->turn.end();
    }
}

// Advance so far that every word is stale.
void LineFilter::clear() noexcept {
    state_->turn.begin();
    turn(std::uint64_t{kLineWords} * params_.phases());
    state_->turn.end();
}

void LineFilter::turn(std::uint64_t ticks) noexcept {
    State& state = *state_;
    counters_.late_visits += state.visits_due;
    visit(state.visits_due);
    const unsigned phases = params_.phases();
    ticks = std::min(ticks, std::uint64_t{kLineWords} * phases);
    counters_.shifts += (state.tick + ticks) / phases - state.tick / phases;
    state.tick += ticks;
    state.load = 0;
    set_phases();
    state.visit_parts += ticks * params_.lines();
    state.visits_due = state.visit_parts / (kLapGenerations * phases);
    state.visit_parts %= kLapGenerations * phases;
}

// If interrupted, the visits are done again from the first line on.
void LineFilter::visit(std::uint64_t lines) noexcept {
    const std::uint64_t due = state_->visits_due - lines;
    std::uint64_t next = state_->next_visit;
    const unsigned phase_of = params_.phases() - 1;
    for (; lines != 0; --lines) {
        std::uint64_t* const words = view_.lines + next * kLineWords;
        const std::uint64_t* const tags = phases_[next & phase_of].tags;
        std::uint64_t stale = 0;
        std::array<std::uint64_t, kLineWords> fresh;
        for (unsigned w = 0; w < kLineWords; ++w) {
            const bool old = ((words[w] ^ tags[w]) & kTagBits) != 0;
            fresh[w] = old ? tags[w] : words[w];
            stale |= fresh[w] ^ words[w];
        }
        if (stale != 0) {
            std::copy(fresh.begin(), fresh.end(), words);
        }
        if (++next == params_.lines()) {
            next = 0;
        }
    }
    std::atomic_signal_fence(std::memory_order_seq_cst);
    state_->next_visit = next;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    state_->visits_due = due;
}

void LineFilter::prepare(std::span<const Digest> digests, PreparedBurst& burst) const noexcept {
    UNECHO_ASSERT(digests.size() <= kMaxBurst);
    burst.count = static_cast<unsigned>(digests.size());
    burst.requested = 0;
    kernel_.find(view_, digests.data(), burst.count, burst.line);
}

void LineFilter::prefetch_lines(PreparedBurst& burst, unsigned digests) const noexcept {
    const unsigned end = std::min(burst.count, burst.requested + digests);
    for (; burst.requested < end; ++burst.requested) {
        for (unsigned row = 0; row < params_.M(); ++row) {
            prefetch_line_for_write<kIntoL2>(view_.lines + burst.line.word[row][burst.requested]);
        }
    }
}

std::uint64_t LineFilter::test_and_insert_burst(const PreparedBurst& burst,
                                                PreparedBurst* next) noexcept {
    if (burst.count == 0) {
        return 0;
    }
    const LineAnswers answers = kernel_.test(view_, line_burst(burst, next));
    count(answers, burst, next);
    return answers.echoes;
}

Answers LineFilter::test_and_insert_burst(const PreparedBurst& burst, ChanceLimits limits,
                                          PreparedBurst* next) noexcept {
    if (burst.count == 0) {
        return {};
    }
    const LineAnswers answers =
        kernel_.judge(view_, line_burst(burst, next, matched_), limits.first(), limits.stride());
    count(answers, burst, next);
    matched_ = (answers.echoes | answers.doubts) != 0;
    return {answers.echoes, answers.doubts};
}

void LineFilter::count(const LineAnswers& answers, const PreparedBurst& burst,
                       PreparedBurst* next) noexcept {
    counters_.insertions +=
        view_.refresh ? burst.count
                      : burst.count - static_cast<unsigned>(std::popcount(answers.echoes));
    state_->load += answers.changes;
    if (next != nullptr) {
        next->requested = answers.next_requested;
    }
}

std::uint64_t LineFilter::test_and_insert_burst(std::span<const Digest> digests) noexcept {
    PreparedBurst burst;
    prepare(digests, burst);
    return test_and_insert_burst(burst, nullptr);
}

Answers LineFilter::test_and_insert_burst(std::span<const Digest> digests,
                                          ChanceLimits limits) noexcept {
    PreparedBurst burst;
    prepare(digests, burst);
    return test_and_insert_burst(burst, limits, nullptr);
}

bool LineFilter::test_and_insert(Digest digest) noexcept {
    return test_and_insert_burst({&digest, 1}) != 0;
}

void LineFilter::prefetch(Digest digest) const noexcept {
    std::uint64_t phase = 0;
    for (unsigned row = 0; row < params_.M(); ++row) {
        const std::uint64_t line = line_number(view_, row_hash(digest, row), row, phase);
        prefetch_line_for_write<kIntoL2>(view_.lines + line * kLineWords);
    }
}

bool LineFilter::query(Digest digest) const noexcept {
    return kernel_.probe(view_, digest).match;
}

float LineFilter::chance(Digest digest) const noexcept {
    return kernel_.probe(view_, digest).chance;
}

void LineFilter::insert(Digest digest) noexcept {
    state_->load += kernel_.insert(view_, digest) ? 1 : 0;
    ++counters_.insertions;
}

}  // namespace unecho::filter
