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
constexpr double kMaxFalseDrop = 1e-6;

// Larger tables do not stay in any cache.
constexpr std::uint64_t kLargestL3 = 32 * 1024 * 1024;

Result<control::FilterPlan> plan_for(Engine engine, double keys_per_second) {
    const sizing::Targets targets{kWindow, keys_per_second, kMaxFalseDrop};
    control::FilterPlan plan;
    plan.name = name_of(engine);
    plan.window = kWindow;
    plan.keys_per_second = keys_per_second;
    auto sized = control::size(engine, targets);
    if (!sized) {
        return tl::unexpected(sized.error());
    }
    plan.geometry = *sized;
    plan.prediction = control::predict(*sized, kWindow, keys_per_second);
    plan.clock.length = std::max<Nanoseconds>(plan.prediction.generation, 1);
    plan.instance_bytes = plan.prediction.bytes;
    return plan;
}

// Memory is nearly proportional to keys; the aim leaves room for the spare segments.
Result<control::FilterPlan> plan_of_size(Engine engine, std::uint64_t bytes) {
    static constexpr double kSpares = 0.87;
    static constexpr int kSteps = 4;
    const double aim = static_cast<double>(bytes) * (engine == Engine::kExact ? 0.995 : kSpares);
    double rate = static_cast<double>(bytes) * 8 / 64 / (static_cast<double>(kWindow) / kSecond);
    Result<control::FilterPlan> plan = plan_for(engine, rate);
    for (int step = 0; step < kSteps && plan; ++step) {
        rate *= aim / static_cast<double>(plan->instance_bytes);
        plan = plan_for(engine, rate);
    }
    return plan;
}

}  // namespace

const char* name_of(Engine engine) {
    return config::kEngineNames.at(static_cast<std::size_t>(engine)).data();
}

Result<std::unique_ptr<Subject>> Subject::make(Engine engine, std::uint64_t bytes,
                                               bool has_hugepages) {
    auto plan = plan_of_size(engine, bytes);
    if (!plan) {
        return tl::unexpected(plan.error());
    }
    auto instance = control::FilterInstance::make(*plan, -1, has_hugepages);
    if (!instance) {
        return tl::unexpected(instance.error());
    }
    return std::unique_ptr<Subject>(new Subject(std::move(*plan), std::move(*instance)));
}

Subject::Subject(control::FilterPlan plan, std::unique_ptr<control::FilterInstance> instance)
    : plan_(std::move(plan)), instance_(std::move(instance)), lane_(instance_->lane(plan_)) {
    if (const filter::SegmentRing* segments = instance_->segments()) {
        cleaner_.add(instance_->shared(), instance_->memory(), segments->geometry().segment_bytes);
    }
}

std::uint64_t Subject::generation() const {
    return shared_.generation.load(std::memory_order_relaxed);
}

void Subject::fill() {
    const std::uint64_t slots =
        instance_->segments() == nullptr ? 1 : instance_->segments()->slots();
    const std::uint64_t keys = (slots + 1) * plan_.prediction.generation_keys;
    std::array<Digest, kMaxBurst> digests{};
    for (std::uint64_t next = 0; next < keys;) {
        for (Digest& digest : digests) {
            digest = remix(next++, 7);
        }
        lane_.ops->test(lane_.filter, digests, {0, generation()}, 1, nullptr);
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
    if (instance_->segments() == nullptr) {
        return;
    }
    const std::uint64_t inserted = counters().insertions;
    if (inserted - turned_at_ >= plan_.prediction.generation_keys) {
        turned_at_ += plan_.prediction.generation_keys;
        shared_.generation.store(generation() + 1, std::memory_order_release);
    }
    zero_retired();
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
