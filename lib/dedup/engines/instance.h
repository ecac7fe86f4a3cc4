// SPDX-License-Identifier: BSD-3-Clause
// One filter as planned, over memory that is handed in, and the lane by which stages reach it.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "base/result.h"
#include "dedup/engines/planning/plan.h"
#include "dedup/pipeline/stages.h"

namespace unecho::engines {

// Of an instance, as long as it is there.
struct InstanceMemory {
    InstanceMemory(std::span<std::byte> memory) : filter(memory) {}  // NOLINT: it may do alone

    std::span<std::byte> filter;  // plan.instance_bytes, line-aligned
    // Where the instance's ageing is to be; null: in the instance.
    filter::Ageing* ageing = nullptr;
    // Of both. Kept: another instance by the same plan left it, and both are whole.
    filter::Contents contents = filter::Contents::kZero;
};

class FilterInstance {
  public:
    static Result<std::unique_ptr<FilterInstance>> make(const FilterPlan& plan,
                                                        const InstanceMemory& memory);

    // An instance can go on with what another one by the same plan left in this memory.
    static bool is_consistent(const FilterPlan& plan, std::span<std::byte> memory);

    // Valid as long as this and until the next call; its judge and its ageing begin anew, but for
    // an ageing that was kept.
    [[nodiscard]] pipeline::FilterContext context(const FilterPlan& plan);
    // Null for an engine without segments.
    [[nodiscard]] filter::SegmentRing* segments();
    [[nodiscard]] std::span<std::byte> memory() const { return memory_.filter; }

  private:
    FilterInstance(const InstanceMemory& memory, AnyFilter filter)
        : memory_(memory), filter_(std::move(filter)) {}

    [[nodiscard]] void* address();

    const InstanceMemory memory_;
    AnyFilter filter_;
    std::optional<filter::UnionRule> repeats_;  // where repeats are kept
    std::optional<pipeline::ConfidencePolicy> confidence_;
    std::optional<filter::Ageing> ageing_;
};

}  // namespace unecho::engines
