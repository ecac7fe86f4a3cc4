// SPDX-License-Identifier: BSD-3-Clause
#include "captures/dedup/deciders/filter_decider.h"

#include <algorithm>

#include <fmt/core.h>

#include "dedup/engines/isa.h"
#include "dedup/engines/planning/candidates.h"
#include "dedup/engines/rules.h"
#include "dedup/pipeline/stages.h"

namespace unecho::dedup {
namespace {

// A match is an echo only within the bound, and a full filter shortens its window.
engines::FilterSpec judging_spec_of(const Options& options) {
    engines::FilterSpec spec = spec_of(options);
    spec.rule = engines::Rule::kBound;
    spec.on_full = engines::OnFull::kShrink;
    spec.repeats = packet::Repeats::kDrop;  // repeat_decider.h decides those
    return spec;
}

Result<engines::Candidate> choose(const Options& options, std::span<const config::Engine> engines,
                                  std::uint64_t memory, std::optional<std::uint64_t> most_packets) {
    engines::SizingRequest question;
    question.window = options.window_time();
    question.max_false_drop = options.false_drop();
    question.shrinks = true;  // engines that cannot ignore it
    question.memory = memory;
    question.first = options.first.value_or(1);
    if (most_packets) {
        question.rate = static_cast<double>(std::max<std::uint64_t>(*most_packets, 1)) * kSecond /
                        static_cast<double>(question.window);
        auto found = engines::find_candidates(question, engines);
        if (found && found->list.front().fits) {
            return std::move(found->list.front());
        }
        question.rate.reset();
    }
    auto found = engines::find_candidates(question, engines);
    UNECHO_TRY(found);
    return std::move(found->list.front());
}

}  // namespace

Result<engines::FilterPlan> FilterDecider::plan(const Options& options,
                                                std::span<const config::Engine> engines,
                                                std::uint64_t memory,
                                                std::optional<std::uint64_t> most_packets) {
    const auto found = choose(options, engines, memory, most_packets);
    UNECHO_TRY(found);
    const auto isa = engines::IsaChoice::measured().any();
    UNECHO_TRY(isa);
    return engines::plan_filter(judging_spec_of(options), {.may_clear = true, .isa = *isa}, *found);
}

Result<std::unique_ptr<FilterDecider>> FilterDecider::make(engines::FilterPlan plan) {
    auto memory = allocate_packet_memory(plan.instance_bytes);
    UNECHO_TRY(memory);
    auto instance = engines::FilterInstance::make(plan, memory->bytes());
    UNECHO_TRY(instance);
    return std::unique_ptr<FilterDecider>(
        new FilterDecider(std::move(plan), std::move(*memory), std::move(*instance)));
}

Result<std::unique_ptr<FilterDecider>> FilterDecider::make(
    const Options& options, std::span<const config::Engine> engines, std::uint64_t memory,
    std::optional<std::uint64_t> most_packets) {
    auto planned = plan(options, engines, memory, most_packets);
    return planned ? make(std::move(*planned)) : tl::unexpected(planned.error());
}

FilterDecider::FilterDecider(engines::FilterPlan plan, MappedMemory memory,
                             std::unique_ptr<engines::FilterInstance> instance)
    : plan_(std::move(plan)),
      memory_(std::move(memory)),
      instance_(std::move(instance)),
      context_(instance_->context(plan_)) {}

void FilterDecider::decide(pipeline::Burst& burst, const BurstPosition& /*place*/,
                           Originals& originals) {
    pipeline::decide_timed(burst, context_);
    if (context_.ops->maintain != nullptr) {
        context_.ops->maintain(context_.filter);
    }
    originals.known = false;
}

void FilterDecider::remember(Digest digest, Nanoseconds time) {
    digests_[tables_] = digest;
    times_[tables_] = time;
    if (++tables_ == kMaxBurst) {
        flush_remembered();
    }
}

// No match is below this limit, so each is a doubt: a doubt is inserted as if it were new.
void FilterDecider::flush_remembered() {
    const filter::ChanceLimits limit(-1.0F);
    context_.ops->test_timed(context_.filter, *context_.ageing, {digests_.data(), tables_},
                             times_.data(), 1, &limit);
    tables_ = 0;
}

filter::AuditState FilterDecider::audit_state(Nanoseconds now) const {
    filter::AuditState state;
    state.window = context_.ops->window(context_.filter, *context_.ageing, now);
    state.counters = context_.ops->counters(context_.filter);
    return state;
}

DeciderFacts FilterDecider::facts(Nanoseconds now) const {
    const std::string engine(engines::engine_name(plan_.geometry));
    const double windows_per_second =
        static_cast<double>(kSecond) / static_cast<double>(plan_.window);
    return {.engine = engine,
            .text = fmt::format("{} ({}, {}, up to {} new packets), {}", engine,
                                engines::geometry_text(plan_.geometry),
                                format_size(plan_.instance_bytes),
                                format_rate(plan_.keys_per_second), plan_.rule_text),
            .slack = plan_.prediction.slack,
            .forgotten = context_.ops->counters(context_.filter).evicted_early,
            .window = context_.ops->window(context_.filter, *context_.ageing, now),
            .planned = static_cast<std::uint64_t>(plan_.keys_per_second / windows_per_second)};
}

}  // namespace unecho::dedup
