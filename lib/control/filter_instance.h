// SPDX-License-Identifier: BSD-3-Clause
// One filter on one worker, with its memory and its exchange with the control thread. The only
// place that knows every engine.
#pragma once

#include <memory>
#include <variant>

#include "base/result.h"
#include "control/plan.h"
#include "dataplane/shared.h"
#include "dataplane/stages.h"
#include "eal/huge_memory.h"
#include "filter/apbbf.h"
#include "filter/apbf.h"
#include "filter/exact.h"

namespace unecho::control {

class FilterInstance {
  public:
    // What make() allocates, spare segments too. Errc::kInvalidArgument if no filter can be built
    // by this geometry.
    static Result<std::uint64_t> bytes_for(const FilterPlan& plan);

    static Result<std::unique_ptr<FilterInstance>> make(const FilterPlan& plan, int socket,
                                                        bool has_hugepages);

    [[nodiscard]] dataplane::Lane lane(const FilterPlan& plan);
    [[nodiscard]] dataplane::LaneShared& shared() { return *shared_; }
    // Null for an engine without segments.
    [[nodiscard]] filter::SegmentRing* segments();
    [[nodiscard]] bool on_hugepages() const { return memory_.on_hugepages(); }
    [[nodiscard]] std::span<std::byte> memory() const { return memory_.bytes(); }

  private:
    using Filter = std::variant<filter::Apbbf, filter::Apbf, filter::Exact>;

    FilterInstance(eal::HugeMemory memory, Filter filter)
        : memory_(std::move(memory)),
          filter_(std::move(filter)),
          shared_(std::make_unique<dataplane::LaneShared>()) {}

    eal::HugeMemory memory_;
    Filter filter_;
    std::unique_ptr<dataplane::LaneShared> shared_;
};

}  // namespace unecho::control
