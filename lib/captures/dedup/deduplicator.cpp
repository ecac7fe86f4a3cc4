// SPDX-License-Identifier: BSD-3-Clause
#include "captures/dedup/deduplicator.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>

#include "base/option_names.h"
#include "captures/dedup/deciders/packet_memory.h"
#include "dedup/engines/isa.h"
#include "dedup/engines/planning/candidates.h"
#include "dedup/pipeline/bits.h"

namespace unecho::dedup {
namespace {

using config::Engine;

// A packet of the window, on its way from the table to the filter.
struct RememberedPacket {
    Digest digest;
    Nanoseconds time;
};

// The table's share of memory if a filter may take over: first the table and these packets exist,
// then these packets and the filter. A packet takes 44 bytes or more in the table.
constexpr std::uint64_t table_part(std::uint64_t memory) {
    return memory / (44 + sizeof(RememberedPacket)) * 44;
}

// Checks whether forgetting loses echoes, while as many new packets come as the table holds.
constexpr std::uint64_t kLooks = 8;

// The part of the window that a full table remembers.
struct TableFill {
    std::uint64_t live = 0;
    Nanoseconds reach = 1;  // age of the oldest

    [[nodiscard]] double rate() const {
        return static_cast<double>(live) * kSecond / static_cast<double>(reach);
    }
};

TableFill measure_fill(const ExactDecider& table, const DigestedBurst& digested) {
    TableFill out;
    table.for_each_live(digested.burst, digested.place, [&](Digest, Nanoseconds time) {
        if (out.live++ == 0) {
            out.reach = std::max<Nanoseconds>(digested.burst.times[0] - time, 1);
        }
    });
    return out;
}

std::string full_text(const DigestedBurst& digested) {
    return fmt::format("packet {}: more packets in the window than fit into {}",
                       digested.place.numbers[0], option::kMemory);
}

// Set the bits of a burst whose first bit is `begin`.
void set_bits(std::vector<std::uint64_t>& words, std::size_t begin, std::uint64_t mask) {
    const std::size_t shift = begin % 64;
    words[begin / 64] |= mask << shift;
    if (shift != 0 && mask >> (64 - shift) != 0) {
        words[begin / 64 + 1] |= mask >> (64 - shift);
    }
}

void clear_bits(std::vector<std::uint64_t>& words, std::size_t begin, std::uint64_t mask) {
    const std::size_t shift = begin % 64;
    words[begin / 64] &= ~(mask << shift);
    if (shift != 0 && mask >> (64 - shift) != 0) {
        words[begin / 64 + 1] &= ~(mask >> (64 - shift));
    }
}

// begin: index of the burst's first record in its batch.
void add_pairs(const DigestedBurst& digested, const Originals& originals, std::size_t begin,
               std::vector<EchoPair>& pairs) {
    std::array<std::uint8_t, kMaxBurst> read;  // index of each among the packets read
    unsigned n = 0;
    pipeline::for_each_bit(digested.mine,
                           [&](unsigned i) { read[n++] = static_cast<std::uint8_t>(i); });
    pipeline::for_each_bit(digested.burst.echoes, [&](unsigned i) {
        EchoPair pair;
        pair.record = begin + read[i];
        pair.number = digested.place.numbers[i];
        pair.file = digested.place.files[i];
        pair.known = originals.known || (digested.burst.unidentified >> i & 1) != 0;
        if (pair.known) {
            pair.original = originals.numbers[i];
            pair.original_file = originals.files[i];
            pair.age = originals.ages[i];
        }
        pairs.push_back(pair);
    });
}

template <typename Made>
Status take(Result<std::unique_ptr<Made>> made, std::unique_ptr<Decider>& decider) {
    UNECHO_TRY(made);
    decider = std::move(*made);
    return {};
}

}  // namespace

Result<std::unique_ptr<Deduplicator>> Deduplicator::make(const Options& options,
                                                         std::uint64_t memory,
                                                         std::optional<std::uint64_t> most_packets,
                                                         std::size_t taps) {
    // Fail before the first packet, whichever engine may take over later.
    UNECHO_TRY(engines::IsaChoice::detect().any());
    std::unique_ptr<Deduplicator> out(new Deduplicator(options));
    const std::uint64_t audited = options.audit ? AuditRunner::memory_share(memory) : 0;
    const std::uint64_t repeats =
        options.keeps_repeats() ? RepeatDecider::memory_share(memory - audited) : 0;
    const Status chosen = out->choose_decider(memory - audited - repeats, most_packets);
    UNECHO_TRY(chosen);
    if (options.keeps_repeats()) {
        auto made = RepeatDecider::make(options, options.same_port_of(taps), repeats);
        UNECHO_TRY(made);
        out->repeats_ = std::move(*made);
    }
    if (options.audit) {
        auto shadow = AuditRunner::make(options, audited, out->decider_->facts(0).slack);
        UNECHO_TRY(shadow);
        out->audit_runner_ = std::move(*shadow);
    }
    return out;
}

Status Deduplicator::choose_decider(std::uint64_t memory,
                                    std::optional<std::uint64_t> most_packets) {
    const Engine engine = options_.engine;
    if (options_.shard) {
        auto table = ExactDecider::make(options_, memory);
        shard_table_ = table ? table->get() : nullptr;
        return take(std::move(table), decider_);
    }
    if (options_.editcap) {
        return take(EditcapDecider::make(options_, memory), decider_);
    }
    if (engine == Engine::kAuto && options_.fits_filters()) {
        return begin_with_table(memory);
    }
    if (engine == Engine::kAuto || engine == Engine::kExact) {
        return take(ExactDecider::make(options_, memory), decider_);
    }
    return take(FilterDecider::make(options_, {&engine, 1}, memory, most_packets), decider_);
}

Status Deduplicator::begin_with_table(std::uint64_t memory) {
    const std::uint64_t sample = EchoAgeSampler::memory_share(memory);
    auto ages = EchoAgeSampler::make(options_, sample);
    UNECHO_TRY(ages);
    auto table = ExactDecider::make(options_, table_part(memory - sample));
    UNECHO_TRY(table);
    exact_phase_.emplace(ExactPhase{memory, table->get(), std::move(*ages), 0, std::nullopt});
    decider_ = std::move(*table);
    return {};
}

Status Deduplicator::decide(std::vector<DigestedBurst>& bursts, std::size_t packets,
                            bool with_pairs, Verdicts& verdicts) {
    verdicts.keep.assign((packets + 63) / 64, ~std::uint64_t{0});
    verdicts.mine.assign(options_.shard ? verdicts.keep.size() : 0, 0);
    verdicts.pairs.clear();
    std::size_t begin = 0;
    Originals originals;
    for (DigestedBurst& digested : bursts) {
        const pipeline::Burst& burst = digested.burst;
        if (burst.count != 0) {
            UNECHO_TRY(decide(digested, originals));
        }
        if (!verdicts.mine.empty()) {
            set_bits(verdicts.mine, begin, digested.mine);
        }
        if (burst.count != 0 && burst.echoes != 0) {
            clear_bits(verdicts.keep, begin, pipeline::deposit_bits(burst.echoes, digested.mine));
            if (with_pairs) {
                add_pairs(digested, originals, begin, verdicts.pairs);
            }
        }
        begin += digested.read;
    }
    return {};
}

// Decide a burst that is not empty.
Status Deduplicator::decide(DigestedBurst& digested, Originals& originals) {
    pipeline::Burst& burst = digested.burst;
    if (exact_phase_ && !exact_phase_->table->has_room(burst, digested.place)) {
        UNECHO_TRY(on_full(digested));
    }
    if (shard_table_ != nullptr && !shard_table_->has_room(burst, digested.place)) {
        return fail(Errc::kNoMemory, full_text(digested) +
                                         ", and a shard has to stay exact; give " +
                                         "more of it, or make more shards of them");
    }
    begin_ = begin_.value_or(burst.times[0]);
    now_ = burst.times[burst.count - 1];
    decider_->decide(burst, digested.place, originals);
    if (repeats_ != nullptr) {
        repeats_->decide(burst, digested.place, originals);
    }
    counts_.add(burst);
    if (audit_runner_ != nullptr) {
        look(digested);
    }
    if (exact_phase_) {
        exact_phase_->ages.add(burst, digested.place, originals);
    }
    return {};
}

// Choose between a filter and forgetting. A filter that holds the whole window loses nothing of it.
// A smaller one still reaches further back than the table, but makes false drops and knows no
// originals. So it takes over only if echoes would be lost.
Status Deduplicator::on_full(const DigestedBurst& digested) {
    ExactPhase& to = *exact_phase_;
    if (digested.place.first_number < to.next_look) {
        return {};
    }
    const TableFill held = measure_fill(*to.table, digested);
    const bool young = to.ages.are_far_younger_than(held.reach);
    const auto stays = [&] { return young && to.filter_rate.value_or(held.rate()) < held.rate(); };
    if (!stays()) {
        auto plan = FilterDecider::plan(options_, engines::kTakeOverEngines,
                                        to.memory - held.live * sizeof(RememberedPacket));
        if (!plan) {
            exact_phase_.reset();
            notes_.push_back(fmt::format("{}, and no filter can take over ({})",
                                         full_text(digested), plan.error().context));
            return {};
        }
        to.filter_rate = plan->keys_per_second;
        if (!stays()) {
            return switch_to_filter(digested, held.live, std::move(*plan));
        }
    }
    to.next_look =
        digested.place.first_number + std::max<std::uint64_t>(held.live / kLooks, kMaxBurst);
    return {};
}

Status Deduplicator::switch_to_filter(const DigestedBurst& digested, std::uint64_t live,
                                      engines::FilterPlan plan) {
    const ExactDecider& table = *exact_phase_->table;
    exact_phase_.reset();
    const std::string full = full_text(digested);
    const auto pages = allocate_packet_memory(live * sizeof(RememberedPacket));
    UNECHO_TRY(pages);
    auto* const remembered = reinterpret_cast<RememberedPacket*>(pages->bytes().data());
    RememberedPacket* end = remembered;
    table.for_each_live(digested.burst, digested.place, [&](Digest digest, Nanoseconds time) {
        *end++ = {digest, time};
    });
    exact_result_ = ExactPhaseResult{table.facts(now_), digested.place.numbers[0], now_};
    decider_.reset();  // its memory becomes the filter's
    auto filter = FilterDecider::make(std::move(plan));
    if (!filter) {
        return fail(filter.error().code, fmt::format("{}: {}", full, filter.error().context));
    }
    for (const RememberedPacket* one = remembered; one != end; ++one) {
        (*filter)->remember(one->digest, one->time);
    }
    (*filter)->flush_remembered();
    decider_ = std::move(*filter);
    if (audit_runner_ != nullptr) {
        audit_runner_->change_slack(decider_->facts(now_).slack, now_);
    }
    const DeciderFacts now = decider_->facts(now_);
    notes_.push_back(fmt::format(
        "{}; from here on {}; planned for {} new packets in a window, with more the window shrinks",
        full, now.text, format_count(now.planned.value_or(0))));
    return {};
}

// Audit a burst. A filter that took over knows of earlier packets only those that the table kept.
void Deduplicator::look(const DigestedBurst& digested) {
    filter::AuditState state = decider_->audit_state(now_);
    if (exact_result_ && exact_result_->facts.window) {
        const Nanoseconds kept = exact_result_->facts.window->achieved + (now_ - exact_result_->at);
        state.window.achieved = std::min(state.window.achieved, kept);
    }
    audit_runner_->look(digested.burst, state);
}

std::optional<engines::AuditReport> Deduplicator::audit(
    Nanoseconds elapsed, const std::vector<std::string>& names) const {
    return audit_runner_ == nullptr
               ? std::nullopt
               : std::optional(audit_runner_->report(options_, facts(), elapsed, names));
}

DeciderFacts Deduplicator::facts() const {
    DeciderFacts out = decider_->facts(now_);
    if (exact_result_) {
        out.handed_over = exact_result_->end;
        out.forgotten += exact_result_->facts.forgotten;
    }
    if (repeats_ != nullptr) {
        out.forgotten += repeats_->counters().forgotten;
        if (out.window) {
            filter::shorten(*out.window, repeats_->kept(), now_);
        }
    }
    if (out.window && exact_result_ && exact_result_->facts.window) {
        const filter::WindowState& before = *exact_result_->facts.window;
        out.window->achieved =
            std::min(out.window->achieved, before.achieved + (now_ - exact_result_->at));
        if (before.shortest < out.window->shortest) {
            out.window->shortest = before.shortest;
            out.window->shortest_at = before.shortest_at;
        }
    }
    if (out.window && out.window->shortest < options_.window_time()) {
        out.window->shortest_at -= std::min(begin_.value_or(0), out.window->shortest_at);
    }
    return out;
}

}  // namespace unecho::dedup
