// SPDX-License-Identifier: BSD-3-Clause
#include "offline/filter_decider.h"

#include <algorithm>

#include "control/candidates.h"
#include "control/machine.h"
#include "control/rules.h"
#include "pipeline/stages.h"

namespace unecho::offline {
namespace {

control::FilterPlan plan_of(const Options& options, const control::Candidate& candidate,
                            filter::Isa isa) {
    control::FilterPlan plan;
    plan.name = "capture";
    plan.key = options.key_mode();
    plan.non_ip = options.non_ip_or_pass();
    plan.policy = options.policy_or_fixed();
    plan.first = options.first.value_or(1);
    plan.window = options.window_time();
    plan.geometry = candidate.geometry;
    plan.prediction = candidate.prediction;
    plan.keys_per_second = candidate.rate;
    plan.instance_bytes = candidate.bytes;
    plan.clock.length = std::max<Nanoseconds>(plan.prediction.generation, 1);
    plan.on_full = control::on_full_with(config::OnFull::kShrink, plan.geometry);
    if (plan.on_full) {
        plan.load = sizing::load_for(plan.prediction.generation_keys, control::kRandomArrivals);
    }
    plan.may_clear = true;
    plan.isa = isa;
    config::Filter rules;
    rules.max_false_drop = options.false_drop();
    rules.rule = control::can_judge(plan.geometry) ? config::Rule::kBound : config::Rule::kMatch;
    plan.rule = *rules.rule;
    plan.judge = control::judge_of(rules);
    plan.rule_text = control::rule_text(rules);
    return plan;
}

Result<control::Candidate> choose(const Options& options, std::span<const config::Engine> engines,
                                  std::uint64_t memory, std::optional<std::uint64_t> most_packets) {
    control::SizeQuestion question;
    question.window = options.window_time();
    question.max_false_drop = options.false_drop();
    question.shrinks = std::all_of(engines.begin(), engines.end(), [](config::Engine engine) {
        return config::on_full_of(engine).contains(config::OnFull::kShrink);
    });
    question.memory = memory;
    question.first = options.first.value_or(1);
    if (most_packets) {
        question.rate = static_cast<double>(std::max<std::uint64_t>(*most_packets, 1)) * kSecond /
                        static_cast<double>(question.window);
        auto found = control::find_candidates(question, engines);
        if (found && found->list.front().fits) {
            return std::move(found->list.front());
        }
        question.rate.reset();
    }
    auto found = control::find_candidates(question, engines);
    if (!found) {
        return tl::unexpected(found.error());
    }
    return std::move(found->list.front());
}

}  // namespace

Result<control::FilterPlan> FilterDecider::plan(const Options& options,
                                                std::span<const config::Engine> engines,
                                                std::uint64_t memory,
                                                std::optional<std::uint64_t> most_packets) {
    const auto found = choose(options, engines, memory, most_packets);
    if (!found) {
        return tl::unexpected(found.error());
    }
    const auto isa = control::Machine::detect().isa();
    if (!isa) {
        return tl::unexpected(isa.error());
    }
    return plan_of(options, *found, *isa);
}

Result<std::unique_ptr<FilterDecider>> FilterDecider::make(control::FilterPlan plan) {
    auto instance = control::FilterInstance::make(plan, -1, false);
    if (!instance) {
        return tl::unexpected(instance.error());
    }
    return std::unique_ptr<FilterDecider>(new FilterDecider(std::move(plan), std::move(*instance)));
}

Result<std::unique_ptr<FilterDecider>> FilterDecider::make(
    const Options& options, std::span<const config::Engine> engines, std::uint64_t memory,
    std::optional<std::uint64_t> most_packets) {
    auto planned = plan(options, engines, memory, most_packets);
    return planned ? make(std::move(*planned)) : tl::unexpected(planned.error());
}

FilterDecider::FilterDecider(control::FilterPlan plan,
                             std::unique_ptr<control::FilterInstance> instance)
    : plan_(std::move(plan)), instance_(std::move(instance)), lane_(instance_->lane(plan_)) {}

void FilterDecider::decide(pipeline::Burst& burst, const Place& /*place*/, Originals& originals) {
    pipeline::decide_timed(burst, lane_);
    if (lane_.ops->maintain != nullptr) {
        lane_.ops->maintain(lane_.filter);
    }
    originals.known = false;
}

void FilterDecider::remember(Digest digest, Nanoseconds time) {
    digests_[memories_] = digest;
    times_[memories_] = time;
    if (++memories_ == kMaxBurst) {
        end_of_memories();
    }
}

// No match is below the limit, so that each is in doubt: a doubt is inserted as if it were new.
void FilterDecider::end_of_memories() {
    const filter::ChanceLimits limit(-1.0F);
    lane_.ops->test_timed(lane_.filter, *lane_.ageing, {digests_.data(), memories_}, times_.data(),
                          1, &limit);
    memories_ = 0;
}

std::uint64_t FilterDecider::forgotten() const {
    return lane_.ops->counters(lane_.filter).evicted_early;
}

std::optional<filter::WindowState> FilterDecider::window(Nanoseconds now) const {
    return lane_.ops->window(lane_.filter, *lane_.ageing, now);
}

std::optional<std::uint64_t> FilterDecider::planned() const {
    const double windows_per_second =
        static_cast<double>(kSecond) / static_cast<double>(plan_.window);
    return static_cast<std::uint64_t>(plan_.keys_per_second / windows_per_second);
}

std::string FilterDecider::text() const {
    return std::string(plan_.engine()) + " (" + control::geometry_text(plan_.geometry) + ", " +
           format_size(plan_.instance_bytes) + ", up to " + format_rate(plan_.keys_per_second) +
           " new packets), " + plan_.rule_text;
}

}  // namespace unecho::offline
