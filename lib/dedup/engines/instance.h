// SPDX-License-Identifier: BSD-3-Clause
// One planned filter over memory that the caller provides, and the context that stages use it by.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "base/result.h"
#include "dedup/engines/planning/plan.h"
#include "dedup/pipeline/stages.h"

namespace unecho::engines {

// The memory must outlive the instance.
struct InstanceMemory {
    InstanceMemory(std::span<std::byte> memory) : filter(memory) {}  // NOLINT: it may do alone

    std::span<std::byte> filter;  // plan.instance_bytes, line-aligned
    // The place of the instance's ageing; null: in the instance.
    filter::Ageing* ageing = nullptr;
    // Applies to both. kRestored: an instance of the same plan left them, and both are consistent.
    filter::Contents contents = filter::Contents::kZero;
};

class FilterInstance {
  public:
    static Result<std::unique_ptr<FilterInstance>> make(const FilterPlan& plan,
                                                        const InstanceMemory& memory);

    // Return true if an instance can continue with what one of the same plan left in this memory.
    static bool is_consistent(const FilterPlan& plan, std::span<std::byte> memory);

    // Return the context, valid during this instance's life and until the next call. Its confidence
    // policy and ageing start anew, except for a restored ageing.
    [[nodiscard]] pipeline::FilterContext context(const FilterPlan& plan);
    // Return null for an engine without segments.
    [[nodiscard]] filter::SegmentRing* segments();
    [[nodiscard]] std::span<std::byte> memory() const { return memory_.filter; }

  private:
    FilterInstance(const InstanceMemory& memory, AnyFilter filter)
        : memory_(memory), filter_(std::move(filter)) {}

    [[nodiscard]] void* address();

    const InstanceMemory memory_;
    AnyFilter filter_;
    std::optional<filter::UnionRule> repeats_;  // if repeats are kept
    std::optional<pipeline::ConfidencePolicy> confidence_;
    std::optional<filter::Ageing> ageing_;
};

}  // namespace unecho::engines
