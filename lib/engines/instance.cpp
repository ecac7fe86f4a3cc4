// SPDX-License-Identifier: BSD-3-Clause
#include "engines/instance.h"

#include <utility>

namespace unecho::engines {

Result<std::unique_ptr<FilterInstance>> FilterInstance::make(const FilterPlan& plan,
                                                             const InstanceMemory& memory) {
    const std::span<std::byte> engine =
        plan.repeats ? memory.filter.first(plan.engine_bytes) : memory.filter;
    auto made = make_filter(plan.setup(), engine, memory.contents);
    if (!made) {
        return fail(made.error().code, "filter \"" + plan.name + "\": " + made.error().context);
    }
    std::unique_ptr<FilterInstance> out(new FilterInstance(memory, std::move(*made)));
    if (plan.repeats) {
        out->repeats_.emplace(*plan.repeats, memory.filter.subspan(plan.engine_bytes),
                              memory.contents);
    }
    return out;
}

bool FilterInstance::is_whole(const FilterPlan& plan, std::span<std::byte> memory) {
    return !plan.repeats
               ? engines::is_whole(plan.setup(), memory)
               : engines::is_whole(plan.setup(), memory.first(plan.engine_bytes)) &&
                     filter::UnionRule::is_whole(*plan.repeats, memory.subspan(plan.engine_bytes));
}

void* FilterInstance::address() {
    return std::visit([](auto& filter) -> void* { return &filter; }, filter_);
}

pipeline::Lane FilterInstance::lane(const FilterPlan& plan) {
    pipeline::Lane lane;
    lane.ops = &ops_of(filter_);
    lane.filter = address();
    lane.key = plan.key;
    lane.first = plan.first;
    lane.told_ahead = plan.told_ahead;
    lane.ageing = memory_.ageing;
    if (memory_.ageing == nullptr) {
        lane.ageing = &ageing_.emplace(plan.ageing());
    } else if (memory_.contents == filter::Contents::kZero) {
        std::construct_at(memory_.ageing, plan.ageing());
    } else {
        memory_.ageing->begin_report();
    }
    lane.window = plan.window;
    lane.remembered = plan.window + plan.prediction.slack;
    if (!plan.engine().judges) {
        lane.planned_chance = static_cast<float>(plan.prediction.false_drop);
        lane.bound = plan.bound ? std::optional(static_cast<float>(*plan.bound)) : std::nullopt;
    }
    judge_ = plan.judge;
    lane.judge = judge_ ? &*judge_ : nullptr;
    lane.repeats = repeats_ ? &*repeats_ : nullptr;
    return lane;
}

filter::SegmentRing* FilterInstance::segments() {
    return ops_of(filter_).segments(address());
}

}  // namespace unecho::engines
