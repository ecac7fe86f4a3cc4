// SPDX-License-Identifier: BSD-3-Clause
// One filter on one worker: its memory, the instance over it (engines/instance.h), and its exchange
// with the control thread.
#pragma once

#include <memory>
#include <variant>

#include "base/result.h"
#include "control/kept_state.h"
#include "dataplane/shared.h"
#include "eal/huge_memory.h"
#include "engines/instance.h"

namespace unecho::control {

class WorkerFilter {
  public:
    // Of plan.instance_bytes. socket: where its memory should be; -1 for any.
    static Result<std::unique_ptr<WorkerFilter>> make(const engines::FilterPlan& plan, int socket,
                                                      bool has_hugepages);
    // In memory that outlives the process.
    static Result<std::unique_ptr<WorkerFilter>> make(const engines::FilterPlan& plan,
                                                      KeptMemory memory);

    [[nodiscard]] engines::FilterInstance& instance() { return *instance_; }
    [[nodiscard]] dataplane::LaneShared& shared() { return *shared_; }
    [[nodiscard]] std::uint64_t page_bytes() const {
        return std::visit([](const auto& memory) -> std::uint64_t { return memory.page_bytes(); },
                          memory_);
    }

  private:
    using Memory = std::variant<eal::HugeMemory, KeptMemory>;

    WorkerFilter(Memory memory, std::unique_ptr<engines::FilterInstance> instance)
        : memory_(std::move(memory)),
          instance_(std::move(instance)),
          shared_(std::make_unique<dataplane::LaneShared>()) {}

    Memory memory_;
    std::unique_ptr<engines::FilterInstance> instance_;
    std::unique_ptr<dataplane::LaneShared> shared_;
};

}  // namespace unecho::control
