// SPDX-License-Identifier: BSD-3-Clause
#include "captures/dedup/deciders/exact_decider.h"

#include <utility>

#include <fmt/core.h>

#include "base/option_names.h"
#include "dedup/pipeline/bits.h"

namespace unecho::dedup {

using filter::PacketReference;
using filter::ReferenceParams;
using filter::ReferenceTable;

Result<std::unique_ptr<ExactDecider>> ExactDecider::make(const Options& options,
                                                         std::uint64_t memory) {
    const auto params = ReferenceParams::make({.entries = ReferenceParams::entries_in(memory),
                                               .window = options.window_time(),
                                               .count = options.window_count(),
                                               .policy = options.echo_policy()});
    UNECHO_TRY(params);
    auto mapped = allocate_packet_memory(ReferenceTable::bytes(*params));
    UNECHO_TRY(mapped);
    return std::unique_ptr<ExactDecider>(
        new ExactDecider(std::move(*mapped), *params, options.first.value_or(1)));
}

ExactDecider::ExactDecider(MappedMemory memory, const ReferenceParams& params, unsigned first)
    : memory_(std::move(memory)), table_(params, memory_.bytes()), first_(first) {
    if (params.count() != filter::kAnyCount) {
        numbers_.emplace(PacketNumberMapLimits{.reach = params.count()});
    }
}

void ExactDecider::decide(pipeline::Burst& burst, const BurstPosition& place,
                          Originals& originals) {
    if (numbers_) {
        numbers_->add(place.first_number, {place.numbers.data(), burst.count});
    }
    std::array<Digest, kMaxBurst> digests;
    std::array<PacketReference, kMaxBurst> seen;
    std::array<PacketReference, kMaxBurst> references;
    unsigned n = 0;
    pipeline::for_each_bit(burst.filtered(), [&](unsigned i) {
        digests[n] = burst.digests[i];
        seen[n++] = {burst.times[i], numbers_ ? place.first_number + i : place.numbers[i],
                     place.files[i]};
    });
    const std::uint64_t echoes =
        table_.test_and_insert_burst({digests.data(), n}, first_, seen.data(), references.data());
    burst.echoes = pipeline::deposit_bits(echoes, burst.filtered());
    burst.doubts = 0;
    originals.known = true;
    n = 0;
    pipeline::for_each_bit(burst.filtered(), [&](unsigned i) {
        const PacketReference& reference = references[n++];
        originals.numbers[i] = numbers_ && (echoes >> (n - 1) & 1) != 0
                                   ? *numbers_->of(reference.number)
                                   : reference.number;
        originals.files[i] = reference.tag;
        originals.ages[i] = static_cast<std::int64_t>(burst.times[i] - reference.time);
    });
}

bool ExactDecider::has_room(const pipeline::Burst& burst, const BurstPosition& place) const {
    return table_.has_room(burst.count, first_of(burst, place));
}

filter::AuditState ExactDecider::audit_state(Nanoseconds now) const {
    filter::AuditState state;
    state.window.achieved = table_.kept().at(now);
    state.counters = table_.counters();
    return state;
}

DeciderFacts ExactDecider::facts(Nanoseconds now) const {
    const filter::AchievedWindow& kept = table_.kept();
    return {.engine = "exact",
            .text = fmt::format("exact, room for {} packets in the window",
                                format_count(table_.params().entries())),
            .forgotten = table_.counters().evicted_early,
            .window = filter::WindowState{.achieved = kept.at(now),
                                          .shortest = kept.shortest(),
                                          .shortest_at = kept.shortest_at()}};
}

Result<std::unique_ptr<EditcapDecider>> EditcapDecider::make(const Options& options,
                                                             std::uint64_t memory) {
    if (memory < EditcapSearch::memory_bytes()) {
        return fail(
            Errc::kConfig,
            fmt::format("{}: {} needs {} to remember a million packets, and {} are left for it",
                        option::kMemory, option::kEditcap,
                        format_size(EditcapSearch::memory_bytes()), format_size(memory)));
    }
    auto mapped = allocate_packet_memory(EditcapSearch::memory_bytes());
    UNECHO_TRY(mapped);
    const EditcapSearch search =
        options.count ? EditcapSearch::by_count(*options.count, mapped->bytes())
                      : EditcapSearch::by_time(options.window_time(), mapped->bytes());
    std::string text = options.count ? "as editcap -D " + std::to_string(*options.count)
                                     : "as editcap -w with " + format_duration(*options.window);
    return std::unique_ptr<EditcapDecider>(
        new EditcapDecider(std::move(*mapped), search, std::move(text)));
}

EditcapDecider::EditcapDecider(MappedMemory memory, const EditcapSearch& search, std::string text)
    : memory_(std::move(memory)), search_(search), text_(std::move(text)) {}

void EditcapDecider::decide(pipeline::Burst& burst, const BurstPosition& place,
                            Originals& originals) {
    burst.echoes = 0;
    burst.doubts = 0;
    originals.known = true;
    numbers_.add(place.first_number, {place.numbers.data(), burst.count});
    for (unsigned i = 0; i < burst.count; ++i) {
        const Nanoseconds time = place.records[i].time;
        const auto found =
            search_.find_and_insert(place.first_number + i, time, burst.digests[i], place.files[i]);
        if (found) {
            burst.echoes |= std::uint64_t{1} << i;
            originals.numbers[i] = *numbers_.of(found->number);
            originals.files[i] = found->tag;
            originals.ages[i] = static_cast<std::int64_t>(time - found->time);
        }
    }
}

}  // namespace unecho::dedup
