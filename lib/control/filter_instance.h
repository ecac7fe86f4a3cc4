// SPDX-License-Identifier: BSD-3-Clause
// One filter on one worker, with its memory and its exchange with the control thread.
#pragma once

#include <memory>
#include <optional>

#include "base/result.h"
#include "control/engines.h"
#include "control/plan.h"
#include "dataplane/shared.h"
#include "eal/huge_memory.h"
#include "pipeline/stages.h"

namespace unecho::control {

class FilterInstance {
  public:
    // Of plan.instance_bytes. socket: where its memory should be; -1 for any.
    static Result<std::unique_ptr<FilterInstance>> make(const FilterPlan& plan, int socket,
                                                        bool has_hugepages);

    // Valid as long as this and until the next call; its judge and its ageing begin anew.
    [[nodiscard]] pipeline::Lane lane(const FilterPlan& plan);
    [[nodiscard]] dataplane::LaneShared& shared() { return *shared_; }
    // Null for an engine without segments.
    [[nodiscard]] filter::SegmentRing* segments();
    [[nodiscard]] bool on_hugepages() const { return memory_.on_hugepages(); }
    [[nodiscard]] std::uint64_t page_bytes() const { return memory_.page_bytes(); }
    [[nodiscard]] std::span<std::byte> memory() const { return memory_.bytes(); }

  private:
    FilterInstance(eal::HugeMemory memory, AnyFilter filter)
        : memory_(std::move(memory)),
          filter_(std::move(filter)),
          shared_(std::make_unique<dataplane::LaneShared>()) {}

    [[nodiscard]] void* address();

    eal::HugeMemory memory_;
    AnyFilter filter_;
    std::optional<pipeline::Judge> judge_;
    std::optional<filter::Ageing> ageing_;
    std::unique_ptr<dataplane::LaneShared> shared_;
};

}  // namespace unecho::control
