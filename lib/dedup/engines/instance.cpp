// SPDX-License-Identifier: BSD-3-Clause
#include "dedup/engines/instance.h"

#include <utility>

#include <fmt/core.h>

namespace unecho::engines {

Result<std::unique_ptr<FilterInstance>> FilterInstance::make(const FilterPlan& plan,
                                                             const InstanceMemory& memory) {
    const std::span<std::byte> engine =
        plan.repeats ? memory.filter.first(plan.engine_bytes) : memory.filter;
    auto made = make_filter(plan.setup(), engine, memory.contents);
    if (!made) {
        return fail(made.error().code,
                    fmt::format("filter \"{}\": {}", plan.name, made.error().context));
    }
    std::unique_ptr<FilterInstance> out(new FilterInstance(memory, std::move(*made)));
    if (plan.repeats) {
        out->repeats_.emplace(*plan.repeats, memory.filter.subspan(plan.engine_bytes),
                              memory.contents);
    }
    return out;
}

bool FilterInstance::is_consistent(const FilterPlan& plan, std::span<std::byte> memory) {
    return !plan.repeats ? engines::is_consistent(plan.setup(), memory)
                         : engines::is_consistent(plan.setup(), memory.first(plan.engine_bytes)) &&
                               filter::UnionRule::is_consistent(*plan.repeats,
                                                                memory.subspan(plan.engine_bytes));
}

void* FilterInstance::address() {
    return std::visit([](auto& filter) -> void* { return &filter; }, filter_);
}

pipeline::FilterContext FilterInstance::context(const FilterPlan& plan) {
    pipeline::FilterContext context;
    context.ops = &ops_of(filter_);
    context.filter = address();
    context.key = plan.key;
    context.first = plan.first;
    context.pipelined_prefetch = plan.pipelined_prefetch;
    context.ageing = memory_.ageing;
    if (memory_.ageing == nullptr) {
        context.ageing = &ageing_.emplace(plan.ageing());
    } else if (memory_.contents == filter::Contents::kZero) {
        std::construct_at(memory_.ageing, plan.ageing());
    } else {
        memory_.ageing->begin_report();
    }
    context.window = plan.window;
    context.remembered = plan.window + plan.prediction.slack;
    if (!plan.engine().estimates_chance) {
        context.planned_chance = static_cast<float>(plan.prediction.false_drop);
        context.bound = plan.bound ? std::optional(static_cast<float>(*plan.bound)) : std::nullopt;
    }
    confidence_ = plan.confidence;
    context.confidence = confidence_ ? &*confidence_ : nullptr;
    context.repeats = repeats_ ? &*repeats_ : nullptr;
    return context;
}

filter::SegmentRing* FilterInstance::segments() {
    return ops_of(filter_).segments(address());
}

}  // namespace unecho::engines
