// SPDX-License-Identifier: BSD-3-Clause
// One filter as planned, over memory that is handed in, and the lane by which stages reach it.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "base/result.h"
#include "engines/plan.h"
#include "pipeline/stages.h"

namespace unecho::engines {

class FilterInstance {
  public:
    // memory: plan.instance_bytes, line-aligned and zeroed, as long as the instance.
    static Result<std::unique_ptr<FilterInstance>> make(const FilterPlan& plan,
                                                        std::span<std::byte> memory);

    // Valid as long as this and until the next call; its judge and its ageing begin anew.
    [[nodiscard]] pipeline::Lane lane(const FilterPlan& plan);
    // Null for an engine without segments.
    [[nodiscard]] filter::SegmentRing* segments();
    [[nodiscard]] std::span<std::byte> memory() const { return memory_; }

  private:
    FilterInstance(std::span<std::byte> memory, AnyFilter filter)
        : memory_(memory), filter_(std::move(filter)) {}

    [[nodiscard]] void* address();

    std::span<std::byte> memory_;
    AnyFilter filter_;
    std::optional<pipeline::Judge> judge_;
    std::optional<filter::Ageing> ageing_;
};

}  // namespace unecho::engines
