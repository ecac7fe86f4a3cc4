// SPDX-License-Identifier: BSD-3-Clause
// Filters for tests, planned and made in memory of the planned size.
#pragma once

#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "dedup/engines/instance.h"
#include "dedup/engines/planning/plan.h"
#include "support/filter_memory.h"

namespace unecho::engines {

// A filter of 50 ms at 1 Mpps.
inline FilterSpec echo_spec() {
    FilterSpec spec;
    spec.name = "echo";
    spec.window = 50 * kMillisecond;
    spec.rate = 1e6;
    spec.max_false_drop = kDefaultFalseDrop;
    return spec;
}

inline FilterPlan planned(const FilterSpec& spec, const Placement& placement = {}) {
    auto plan = plan_filter(spec, placement);
    EXPECT_TRUE(plan) << plan.error().context;
    return plan ? std::move(*plan) : FilterPlan{};
}

struct Made {
    explicit Made(const FilterPlan& plan)
        : memory(plan.instance_bytes), instance(*FilterInstance::make(plan, memory.span())) {}
    FilterInstance* operator->() const { return instance.get(); }

    test::FilterMemory memory;
    std::unique_ptr<FilterInstance> instance;
};

inline std::unique_ptr<Made> made(const FilterPlan& plan) {
    return std::make_unique<Made>(plan);
}

}  // namespace unecho::engines
