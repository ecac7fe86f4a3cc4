// SPDX-License-Identifier: BSD-3-Clause
#include "subject.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <variant>

namespace unecho::bench {
namespace {

// The sizing formulas need a window; here a generation is a number of keys.
constexpr Nanoseconds kWindow = 50 * kMillisecond;

// Larger tables do not fit into any cache.
constexpr std::uint64_t kLargestL3 = 32 * 1024 * 1024;

Result<engines::Geometry> size(const Contender& contender, const sizing::Targets& targets) {
    if (contender.lines == 0) {
        return engines::size(contender.engine, targets);
    }
    const auto sized = sizing::size_line_of(targets, contender.lines);
    if (!sized) {
        return tl::unexpected(sized.error());
    }
    return engines::Geometry(*sized);
}

bool is_of_lines(const Contender& contender) {
    return contender.engine == Engine::kLine || contender.engine == Engine::kFingerprint;
}

// Generations of segmented filters turn between windows here, and one window overfills that of a
// small table many times. So only generations of line filters end by load.
engines::FilterSpec spec_of(const Contender& contender) {
    engines::FilterSpec spec;
    spec.name = contender.name;
    spec.engine = contender.engine;
    if (contender.looks_into_tunnels) {
        spec.tunnels = packet::EncapsulationSet::all();
    }
    spec.repeats = contender.repeats;
    spec.window = kWindow;
    spec.max_false_drop = contender.max_false_drop;
    spec.rule = is_of_lines(contender) ? engines::Rule::kBound : engines::Rule::kMatch;
    spec.on_full = is_of_lines(contender) ? engines::OnFull::kShrink : engines::OnFull::kDoubt;
    return spec;
}

Result<engines::FilterPlan> plan_for(const Contender& contender, double keys_per_second) {
    const double margin = engines::info_of(contender.engine).chance_margin;
    auto sized = size(contender, {kWindow, keys_per_second, contender.max_false_drop / margin});
    if (!sized) {
        return tl::unexpected(sized.error());
    }
    engines::Candidate chosen;
    chosen.geometry = std::move(*sized);
    chosen.rate = keys_per_second;
    auto plan = engines::plan_filter(
        spec_of(contender), {.isa = filter::best_isa(), .core_cache = engines::core_cache()},
        chosen);
    if (plan) {
        plan->key.checksums = packet::Checksums::kAsTheyAre;  // as behind network cards
        if (plan->repeats) {  // the oldest look is always overwritten, whatever its time
            filter::UnionSpec repeats = plan->repeats->spec();
            repeats.window = filter::kInfiniteWindow;
            plan->repeats = *filter::UnionParams::make(repeats);
        }
    }
    return plan;
}

// Memory is nearly proportional to keys. Only the deciding part counts: with packet IDs, the
// filter.
Result<engines::FilterPlan> plan_of_size(const Contender& contender, std::uint64_t bytes) {
    static constexpr double kLeaveFree = 0.005;
    static constexpr int kSteps = 4;
    const double aim = static_cast<double>(bytes) * (1 - kLeaveFree);
    double rate = static_cast<double>(bytes) * 8 / 64 / (static_cast<double>(kWindow) / kSecond);
    Result<engines::FilterPlan> plan = plan_for(contender, rate);
    for (int step = 0; step < kSteps && plan; ++step) {
        rate *= aim / static_cast<double>(contender.without_id ? plan->instance_bytes
                                                               : plan->engine_bytes);
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
    auto memory = eal::HugeMemory::allocate(plan->instance_bytes, -1, has_hugepages);
    if (!memory) {
        return tl::unexpected(memory.error());
    }
    auto instance = appliance::WorkerFilter::make(*plan, std::move(*memory));
    if (!instance) {
        return tl::unexpected(instance.error());
    }
    return std::unique_ptr<Subject>(new Subject(contender, std::move(*plan), std::move(*instance)));
}

Subject::Subject(const Contender& contender, engines::FilterPlan plan,
                 std::unique_ptr<appliance::WorkerFilter> instance)
    : most_false_drops_(contender.max_false_drop),
      tunnel_(contender.tunnel),
      without_id_(contender.without_id),
      plan_(std::move(plan)),
      instance_(std::move(instance)),
      context_(instance_->instance().context(plan_)) {
    if (const filter::SegmentRing* segments = instance_->instance().segments()) {
        zeroer_.add(instance_->shared(), instance_->instance().memory(),
                    segments->geometry().segment_bytes);
    }
}

std::uint64_t Subject::turns() const {
    return shared_.turns.load(std::memory_order_relaxed);
}

void Subject::fill() {
    // A window, its slack, and one generation more.
    const std::uint64_t generations =
        by_generation() ? (plan_.window + plan_.prediction.slack) / plan_.prediction.generation + 1
                        : 2;
    const std::uint64_t keys = generations * plan_.prediction.generation_keys;
    const std::uint64_t looks = plan_.repeats ? plan_.repeats->spec().looks : 0;
    for (std::uint64_t next = 0; next < 2 * looks; ++next) {
        context_.repeats->observe(0, {.digest = remix(next, 9), .point = 1});
    }
    std::array<Digest, kMaxBurst> digests{};
    for (std::uint64_t next = 0; next < keys;) {
        for (Digest& digest : digests) {
            digest = remix(next++, 7);
        }
        context_.ops->test(context_.filter, *context_.ageing, digests,
                           {turns() * plan_.clock.length, turns()}, 1, nullptr);
        keep_house();
    }
}

void Subject::touch() const {
    const std::span<const std::byte> memory = instance_->instance().memory();
    if (memory.size() > kLargestL3) {
        return;
    }
    for (std::size_t at = 0; at < memory.size(); at += filter::kCacheLine) {
        [[maybe_unused]] const volatile std::byte seen = memory[at];
    }
}

void Subject::keep_house() {
    if (!by_generation()) {
        return;
    }
    const std::uint64_t inserted = counters().insertions;
    if (inserted - turned_at_ >= plan_.prediction.generation_keys) {
        turned_at_ += plan_.prediction.generation_keys;
        shared_.turns.store(turns() + 1, std::memory_order_release);
    }
    if (instance_->instance().segments() != nullptr) {
        zero_retired();
    }
}

// First the segments that the worker handed over, then those that it could not.
void Subject::zero_retired() {
    while (zeroer_.step()) {
    }
    filter::SegmentRing& segments = *instance_->instance().segments();
    while (const auto retired = segments.take_retired()) {
        const std::span<std::byte> memory = segments.segment_memory(*retired);
        std::memset(memory.data(), 0, memory.size());
        segments.supply_zeroed(*retired);
    }
}

}  // namespace unecho::bench
