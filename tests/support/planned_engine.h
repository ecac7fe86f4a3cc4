// SPDX-License-Identifier: BSD-3-Clause
// An engine as a worker has it, sized for targets: filter, memory, function table, and the ageing
// that ends its generations. There is no control thread: turns are published by the time alone.
#pragma once

#include <optional>
#include <span>
#include <variant>

#include "config/schema.h"
#include "dedup/engines/catalogue.h"
#include "support/filter_memory.h"

namespace unecho::test {

struct EnginePlan {
    config::Engine engine = config::Engine::kLine;
    sizing::Targets targets;
    filter::EchoPolicy policy = filter::EchoPolicy::kFixed;
    unsigned first = 1;
    config::OnFull on_full = config::OnFull::kShrink;
    bool bounded = false;  // matches above targets.max_false_drop are doubts
};

class PlannedEngine {
  public:
    explicit PlannedEngine(const EnginePlan& plan) : PlannedEngine(plan, geometry_of(plan)) {}
    // geometry: from geometry_of() for this plan, or for the plan with the other policy.
    PlannedEngine(const EnginePlan& plan, const engines::Geometry& geometry)
        : plan_(plan),
          setup_{geometry, plan.targets.window, plan.policy, filter::best_isa()},
          prediction_(
              engines::predict(setup_.geometry, plan.targets.window, plan.targets.keys_per_second)),
          memory_(*engines::bytes_of(setup_)),
          filter_(*engines::make_filter(setup_, memory_.span())),
          ageing_(ageing_spec()),
          ops_(engines::ops_of(filter_)),
          limits_(plan.bounded && ops_.chance != nullptr
                      ? std::optional<filter::ChanceLimits>(
                            static_cast<float>(plan.targets.max_false_drop))
                      : std::nullopt) {}

    static engines::Geometry geometry_of(const EnginePlan& plan) {
        sizing::Targets targets = plan.targets;
        targets.spread = spread_of(plan);
        targets.max_false_drop /= plan.bounded ? engines::info_of(plan.engine).chance_margin : 1;
        return *engines::size(plan.engine, targets, plan.first);
    }

    PlannedEngine(const PlannedEngine&) = delete;
    PlannedEngine& operator=(const PlannedEngine&) = delete;

    filter::Answers observe(std::span<const Digest> digests, const Nanoseconds* times) {
        return ops_.test_timed(address(), ageing_, digests, times, plan_.first,
                               limits_ ? &*limits_ : nullptr);
    }
    [[nodiscard]] filter::WindowState window(Nanoseconds now) {
        return ops_.window(address(), ageing_, now);
    }

    [[nodiscard]] const sizing::Prediction& prediction() const { return prediction_; }
    [[nodiscard]] const EnginePlan& plan() const { return plan_; }
    [[nodiscard]] const pipeline::EngineOps& ops() const { return ops_; }
    [[nodiscard]] filter::Ageing& ageing() { return ageing_; }
    [[nodiscard]] const engines::Geometry& geometry() const { return setup_.geometry; }
    [[nodiscard]] std::span<std::byte> memory() const { return memory_.span(); }
    [[nodiscard]] void* address() {
        return std::visit([](auto& filter) -> void* { return &filter; }, filter_);
    }

  private:
    static double spread_of(const EnginePlan& plan) {
        return plan.on_full == config::OnFull::kShrink ? engines::kRandomArrivals : 0;
    }
    [[nodiscard]] filter::AgeingSpec ageing_spec() const {
        std::optional<std::uint64_t> load;
        if (plan_.on_full == config::OnFull::kShrink) {
            load = sizing::load_for(prediction_.generation_keys, spread_of(plan_));
        }
        auto spec = engines::ageing_of(setup_, prediction_.generation, load);
        spec.may_clear = true;
        return spec;
    }

    EnginePlan plan_;
    engines::FilterSetup setup_;
    sizing::Prediction prediction_;
    FilterMemory memory_;
    engines::AnyFilter filter_;
    filter::Ageing ageing_;
    const pipeline::EngineOps& ops_;
    std::optional<filter::ChanceLimits> limits_;
};

}  // namespace unecho::test
