// SPDX-License-Identifier: BSD-3-Clause
// One filter on one worker: its memory, the instance over it (dedup/engines/instance.h), and its
// exchange with the control thread.
#pragma once

#include <memory>
#include <utility>

#include "appliance/dataplane/shared.h"
#include "appliance/plan/worker_memory.h"
#include "base/result.h"
#include "dedup/engines/instance.h"

namespace unecho::appliance {

class WorkerFilter {
  public:
    // memory: plan.instance_bytes, or from WarmRestartStore::filter_memory().
    static Result<std::unique_ptr<WorkerFilter>> make(const engines::FilterPlan& plan,
                                                      WorkerMemory memory);

    [[nodiscard]] engines::FilterInstance& instance() { return *instance_; }
    [[nodiscard]] dataplane::WorkerFilterShared& shared() { return *shared_; }
    [[nodiscard]] std::uint64_t page_bytes() const { return memory_.page_bytes(); }
    void keep(bool on) noexcept { memory_.keep(on); }

  private:
    WorkerFilter(WorkerMemory memory, std::unique_ptr<engines::FilterInstance> instance)
        : memory_(std::move(memory)),
          instance_(std::move(instance)),
          shared_(std::make_unique<dataplane::WorkerFilterShared>()) {}

    WorkerMemory memory_;
    std::unique_ptr<engines::FilterInstance> instance_;
    std::unique_ptr<dataplane::WorkerFilterShared> shared_;
};

}  // namespace unecho::appliance
