// SPDX-License-Identifier: BSD-3-Clause
#include "control/filter_instance.h"

#include <utility>

namespace unecho::control {

Result<std::unique_ptr<FilterInstance>> FilterInstance::make(const FilterPlan& plan, int socket,
                                                             bool has_hugepages) {
    const auto named = [&](const Error& error) {
        return fail(error.code, "filter \"" + plan.name + "\": " + error.context);
    };
    const auto bytes = bytes_of(plan.setup());
    if (!bytes) {
        return named(bytes.error());
    }
    auto memory = eal::HugeMemory::allocate(*bytes, socket, has_hugepages);
    if (!memory) {
        return tl::unexpected(memory.error());
    }
    auto made = make_filter(plan.setup(), memory->bytes());
    if (!made) {
        return named(made.error());
    }
    return std::unique_ptr<FilterInstance>(
        new FilterInstance(std::move(*memory), std::move(*made)));
}

void* FilterInstance::address() {
    return std::visit([](auto& filter) -> void* { return &filter; }, filter_);
}

pipeline::Lane FilterInstance::lane(const FilterPlan& plan) {
    pipeline::Lane lane;
    lane.ops = &ops_of(filter_);
    lane.filter = address();
    lane.key = plan.key;
    lane.non_ip = plan.non_ip;
    lane.first = plan.first;
    ageing_.emplace(plan.ageing());
    lane.ageing = &*ageing_;
    lane.window = plan.window;
    lane.remembered = plan.window + plan.prediction.slack;
    judge_ = plan.judge;
    lane.judge = judge_ ? &*judge_ : nullptr;
    return lane;
}

filter::SegmentRing* FilterInstance::segments() {
    return ops_of(filter_).segments(address());
}

}  // namespace unecho::control
