// SPDX-License-Identifier: BSD-3-Clause
#include "filters/window/fingerprint.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/prefetch.h"
#include "filters/kernels/requests.h"

namespace unecho::filter {
namespace {

// A limit that no match meets.
constexpr float kNever = -1.0F;

FingerprintBurst fingerprint_burst(const PreparedBurst& burst, const PreparedBurst* next) noexcept {
    return {.places = &burst.fingerprint,
            .n = burst.count,
            .requested = burst.requested,
            .next = next == nullptr ? nullptr : &next->fingerprint,
            .next_requested = next == nullptr ? 0 : next->requested,
            .next_n = next == nullptr ? 0 : next->count};
}

// Return the last word of a line as if the line were written now.
std::uint64_t restamped(const FingerprintShape& at, std::uint64_t header,
                        std::uint64_t generation) noexcept {
    const std::uint64_t ages = ~std::uint64_t{0} << at.ages_at;
    const std::uint64_t older = (generation - (header >> at.stamp_at)) & 0xFF;
    const std::uint64_t moved = older <= at.l ? (header & ages) << older : std::uint64_t{0};
    const std::uint64_t rest = header & ((std::uint64_t{1} << at.stamp_at) - 1);
    return moved | generation << at.stamp_at | rest;
}

}  // namespace

FingerprintFilter::FingerprintFilter(const FingerprintParams& params, std::span<std::byte> memory,
                                     Contents contents) noexcept
    : params_(params), kernel_(kernels_for<FingerprintKernels>(params.isa()).of[params.layout()]) {
    Tables& tables = *carve<Tables>(memory, 0, 1);
    std::byte* const lines =
        carve<std::byte>(memory, table_bytes(), params.lines() * kFingerprintLine);
    state_ = &tables.state;
    if (contents == Contents::kZero) {
        state_->tick = kStamps;
    } else {
        state_->load += kMaxBurst;  // an interrupted burst may have written this many
        if (FingerprintJournal& journal = tables.journal; journal.last != 0) {
            const std::uint64_t line = (journal.last >> 1) - 1;
            std::memcpy(lines + line * kFingerprintLine, journal.lines[journal.last & 1],
                        kFingerprintLine);
            std::atomic_signal_fence(std::memory_order_seq_cst);
            journal.last = 0;
        }
    }
    view_ = {.lines = lines,
             .half = static_cast<std::uint32_t>(params.lines() / 2),
             .generation = static_cast<std::uint32_t>(state_->tick % kStamps),
             .refresh = params.policy() == EchoPolicy::kRefresh,
             .fast_pdep = params.fast_pdep(),
             .time = &state_->time,
             .journal = &tables.journal};
}

bool FingerprintFilter::is_consistent(const FingerprintParams& params,
                                      std::span<std::byte> memory) noexcept {
    const Tables& tables = *carve<Tables>(memory, 0, 1);
    const State& state = tables.state;
    return !state.turn.is_interrupted() && state.tick >= kStamps &&
           state.next_visit < params.lines() && tables.journal.last != 1 &&
           tables.journal.last >> 1 <= params.lines();
}

void FingerprintFilter::advance(Moment moment) noexcept {
    FingerprintTime& time = state_->time;
    if (moment.generation > time.generation) [[unlikely]] {
        const std::uint64_t turns = moment.generation - time.generation;
        state_->turn.begin();
        time.generation = moment.generation;
        turn(turns);
        state_->turn.end();
    }
}

// Advance so far that no fingerprint stays live.
void FingerprintFilter::clear() noexcept {
    state_->turn.begin();
    turn(params_.l() + 1);
    state_->turn.end();
}

void FingerprintFilter::turn(std::uint64_t turns) noexcept {
    State& state = *state_;
    counters_.late_visits += state.visits_due;
    visit(state.visits_due);
    turns = std::min<std::uint64_t>(turns, params_.l() + 1);
    counters_.shifts += turns;
    state.tick += turns;
    view_.generation = static_cast<std::uint32_t>(state.tick % kStamps);
    state.load = 0;
    state.visit_parts += turns * params_.lines();
    state.visits_due = state.visit_parts / kLapGenerations;
    state.visit_parts %= kLapGenerations;
}

// If interrupted, the visits are done again from the first line on.
void FingerprintFilter::visit(std::uint64_t lines) noexcept {
    const std::uint64_t due = state_->visits_due - lines;
    std::uint64_t next = state_->next_visit;
    for (; lines != 0; --lines) {
        std::byte* const last = view_.lines + next * kFingerprintLine + 56;
        std::uint64_t header;
        std::memcpy(&header, last, sizeof header);
        header = restamped(params_.shape(), header, view_.generation);
        std::memcpy(last, &header, sizeof header);
        if (++next == params_.lines()) {
            next = 0;
        }
    }
    std::atomic_signal_fence(std::memory_order_seq_cst);
    state_->next_visit = next;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    state_->visits_due = due;
}

void FingerprintFilter::prepare(std::span<const Digest> digests,
                                PreparedBurst& burst) const noexcept {
    UNECHO_ASSERT(digests.size() <= kMaxBurst);
    burst.count = static_cast<unsigned>(digests.size());
    burst.requested = 0;
    kernel_.find(view_, digests.data(), burst.count, burst.fingerprint);
}

void FingerprintFilter::prefetch_lines(PreparedBurst& burst, unsigned digests) const noexcept {
    const unsigned end = std::min(burst.count, burst.requested + digests);
    for (; burst.requested < end; ++burst.requested) {
        prefetch_line_for_write<kIntoL2>(view_.lines + burst.fingerprint.at[0][burst.requested]);
        prefetch_line_for_write<kIntoL2>(view_.lines + burst.fingerprint.at[1][burst.requested]);
    }
}

std::uint64_t FingerprintFilter::test_and_insert_burst(const PreparedBurst& burst,
                                                       PreparedBurst* next) noexcept {
    if (burst.count == 0) {
        return 0;
    }
    const FingerprintAnswers answers = kernel_.test(view_, fingerprint_burst(burst, next));
    count(answers, burst, next);
    return answers.echoes;
}

Answers FingerprintFilter::test_and_insert_burst(const PreparedBurst& burst, ChanceLimits limits,
                                                 PreparedBurst* next) noexcept {
    if (burst.count == 0) {
        return {};
    }
    const FingerprintAnswers answers =
        kernel_.judge(view_, fingerprint_burst(burst, next), limits.first(), limits.stride());
    count(answers, burst, next);
    return {answers.echoes, answers.doubts};
}

void FingerprintFilter::count(const FingerprintAnswers& answers, const PreparedBurst& burst,
                              PreparedBurst* next) noexcept {
    counters_.insertions +=
        view_.refresh ? burst.count
                      : burst.count - static_cast<unsigned>(std::popcount(answers.echoes));
    counters_.evicted_early += answers.lost;
    state_->load += answers.inserted;
    if (next != nullptr) {
        next->requested = answers.next_requested;
    }
}

std::uint64_t FingerprintFilter::test_and_insert_burst(std::span<const Digest> digests) noexcept {
    PreparedBurst burst;
    prepare(digests, burst);
    return test_and_insert_burst(burst, nullptr);
}

Answers FingerprintFilter::test_and_insert_burst(std::span<const Digest> digests,
                                                 ChanceLimits limits) noexcept {
    PreparedBurst burst;
    prepare(digests, burst);
    return test_and_insert_burst(burst, limits, nullptr);
}

bool FingerprintFilter::test_and_insert(Digest digest) noexcept {
    return test_and_insert_burst({&digest, 1}) != 0;
}

void FingerprintFilter::prefetch(Digest digest) const noexcept {
    PreparedBurst burst;
    prepare({&digest, 1}, burst);
    prefetch_lines(burst, 1);
}

bool FingerprintFilter::query(Digest digest) const noexcept {
    return kernel_.probe(view_, digest).match;
}

float FingerprintFilter::chance(Digest digest) const noexcept {
    return kernel_.probe(view_, digest).chance;
}

// Insert the digest like a doubt.
void FingerprintFilter::insert(Digest digest) noexcept {
    PreparedBurst burst;
    prepare({&digest, 1}, burst);
    const FingerprintAnswers answers =
        kernel_.judge(view_, fingerprint_burst(burst, nullptr), &kNever, 0);
    counters_.evicted_early += answers.lost;
    state_->load += answers.inserted;
    ++counters_.insertions;
}

}  // namespace unecho::filter
