// SPDX-License-Identifier: BSD-3-Clause
// One filter on one worker, with its memory and its exchange with the control thread.
#pragma once

#include <memory>

#include "base/result.h"
#include "dataplane/shared.h"
#include "eal/huge_memory.h"
#include "engines/instance.h"

namespace unecho::control {

class LaneMemory {
  public:
    // Of plan.instance_bytes. socket: where its memory should be; -1 for any.
    static Result<std::unique_ptr<LaneMemory>> make(const engines::FilterPlan& plan, int socket,
                                                    bool has_hugepages);

    [[nodiscard]] engines::FilterInstance& filter() { return *filter_; }
    [[nodiscard]] dataplane::LaneShared& shared() { return *shared_; }
    [[nodiscard]] bool on_hugepages() const { return memory_.on_hugepages(); }
    [[nodiscard]] std::uint64_t page_bytes() const { return memory_.page_bytes(); }

  private:
    LaneMemory(eal::HugeMemory memory, std::unique_ptr<engines::FilterInstance> filter)
        : memory_(std::move(memory)),
          filter_(std::move(filter)),
          shared_(std::make_unique<dataplane::LaneShared>()) {}

    eal::HugeMemory memory_;
    std::unique_ptr<engines::FilterInstance> filter_;
    std::unique_ptr<dataplane::LaneShared> shared_;
};

}  // namespace unecho::control
