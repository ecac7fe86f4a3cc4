// SPDX-License-Identifier: BSD-3-Clause
#include "subject.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <variant>

namespace unecho::bench {
namespace {

// The window is what the sizing formulas need one for; here a generation is a number of keys.
constexpr Nanoseconds kWindow = 50 * kMillisecond;

// Larger tables do not stay in any cache.
constexpr std::uint64_t kLargestL3 = 32 * 1024 * 1024;

Result<control::Geometry> size(const Contender& contender, const sizing::Targets& targets) {
    if (contender.lines == 0) {
        return control::size(contender.engine, targets);
    }
    const auto sized = sizing::size_line_of(targets, contender.lines);
    if (!sized) {
        return tl::unexpected(sized.error());
    }
    return control::Geometry(*sized);
}

Result<control::FilterPlan> plan_for(const Contender& contender, double keys_per_second) {
    const sizing::Targets targets{
        kWindow, keys_per_second,
        contender.max_false_drop / control::judge_margin(contender.engine)};
    control::FilterPlan plan;
    plan.name = contender.name;
    plan.isa = filter::best_isa();
    plan.window = kWindow;
    plan.keys_per_second = keys_per_second;
    auto sized = size(contender, targets);
    if (!sized) {
        return tl::unexpected(sized.error());
    }
    plan.geometry = *sized;
    plan.prediction = control::predict(*sized, kWindow, keys_per_second);
    plan.clock.length = std::max<Nanoseconds>(plan.prediction.generation, 1);
    // Not those of segments: their generations turn between windows here, and one window overfills
    // that of a small table many times.
    if (contender.lines != 0) {
        plan.judge = pipeline::Judge::bound(static_cast<float>(contender.max_false_drop));
        plan.on_full = control::on_full_with(config::OnFull::kShrink, *sized);
        plan.load = sizing::load_for(plan.prediction.generation_keys, control::kRandomArrivals);
    }
    plan.instance_bytes = plan.prediction.bytes;
    return plan;
}

// Memory is nearly proportional to keys; the aim leaves room for the spare segments.
Result<control::FilterPlan> plan_of_size(const Contender& contender, std::uint64_t bytes) {
    static constexpr double kSpares = 0.87;
    static constexpr int kSteps = 4;
    const double aim =
        static_cast<double>(bytes) * (contender.engine == Engine::kExact ? 0.995 : kSpares);
    double rate = static_cast<double>(bytes) * 8 / 64 / (static_cast<double>(kWindow) / kSecond);
    Result<control::FilterPlan> plan = plan_for(contender, rate);
    for (int step = 0; step < kSteps && plan; ++step) {
        rate *= aim / static_cast<double>(plan->instance_bytes);
        plan = plan_for(contender, rate);
    }
    return plan;
}

}  // namespace

Result<std::unique_ptr<Subject>> Subject::make(const Contender& contender, std::uint64_t bytes,
                                               bool has_hugepages) {
    auto plan = plan_of_size(contender, bytes);
    if (!plan) {
        return tl::unexpected(plan.error());
    }
    auto instance = control::FilterInstance::make(*plan, -1, has_hugepages);
    if (!instance) {
        return tl::unexpected(instance.error());
    }
    return std::unique_ptr<Subject>(new Subject(contender, std::move(*plan), std::move(*instance)));
}

Subject::Subject(const Contender& contender, control::FilterPlan plan,
                 std::unique_ptr<control::FilterInstance> instance)
    : most_false_drops_(contender.max_false_drop),
      plan_(std::move(plan)),
      instance_(std::move(instance)),
      lane_(instance_->lane(plan_)) {
    if (const filter::SegmentRing* segments = instance_->segments()) {
        cleaner_.add(instance_->shared(), instance_->memory(), segments->geometry().segment_bytes);
    }
}

std::uint64_t Subject::generation() const {
    return shared_.generation.load(std::memory_order_relaxed);
}

void Subject::fill() {
    // A window, its slack, and a generation more.
    const std::uint64_t turns =
        control::ages_by_generation(plan_.geometry)
            ? (plan_.window + plan_.prediction.slack) / plan_.prediction.generation + 1
            : 2;
    const std::uint64_t keys = turns * plan_.prediction.generation_keys;
    std::array<Digest, kMaxBurst> digests{};
    for (std::uint64_t next = 0; next < keys;) {
        for (Digest& digest : digests) {
            digest = remix(next++, 7);
        }
        lane_.ops->test(lane_.filter, *lane_.ageing, digests,
                        {generation() * plan_.clock.length, generation()}, 1, nullptr);
        keep_house();
    }
}

void Subject::touch() const {
    const std::span<const std::byte> memory = instance_->memory();
    if (memory.size() > kLargestL3) {
        return;
    }
    for (std::size_t at = 0; at < memory.size(); at += filter::kCacheLine) {
        [[maybe_unused]] const volatile std::byte seen = memory[at];
    }
}

void Subject::keep_house() {
    if (!control::ages_by_generation(plan_.geometry)) {
        return;
    }
    const std::uint64_t inserted = counters().insertions;
    if (inserted - turned_at_ >= plan_.prediction.generation_keys) {
        turned_at_ += plan_.prediction.generation_keys;
        shared_.generation.store(generation() + 1, std::memory_order_release);
    }
    if (instance_->segments() != nullptr) {
        zero_retired();
    }
}

// Those that the worker handed over, and those that it had no occasion to.
void Subject::zero_retired() {
    while (cleaner_.step()) {
    }
    filter::SegmentRing& segments = *instance_->segments();
    while (const auto retired = segments.take_retired()) {
        const std::span<std::byte> memory = segments.segment_memory(*retired);
        std::memset(memory.data(), 0, memory.size());
        segments.supply_zeroed(*retired);
    }
}

}  // namespace unecho::bench
