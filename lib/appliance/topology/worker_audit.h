// SPDX-License-Identifier: BSD-3-Clause
// The audit of one filter on one worker, and what it measures of paths, with their memory.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "appliance/dataplane/filter_stage.h"
#include "appliance/plan/worker_memory.h"
#include "dedup/pipeline/audit.h"
#include "dedup/pipeline/paths/path_table.h"
#include "dedup/pipeline/paths/totals.h"

namespace unecho::appliance {

class WorkerPaths {
  public:
    // memory: PathTable::bytes(spec), private to the process.
    WorkerPaths(WorkerMemory memory, const pipeline::PathSpec& spec)
        : memory_(std::move(memory)),
          counts_(std::make_shared<Counts>(spec.points)),
          table_(spec, memory_.bytes(), counts_->totals) {}

    [[nodiscard]] pipeline::PathTable& table() { return table_; }
    // Return the totals, which a reader may keep.
    [[nodiscard]] std::shared_ptr<const pipeline::PathTotals> totals() const {
        return {counts_, &counts_->totals};
    }

  private:
    struct Counts {
        explicit Counts(std::size_t points) : cells(points * points), totals(points, cells) {}
        std::vector<pipeline::PathCell> cells;
        pipeline::PathTotals totals;
    };

    WorkerMemory memory_;
    std::shared_ptr<Counts> counts_;
    pipeline::PathTable table_;
};

class WorkerAudit {
  public:
    // memory: Audit::bytes(params), private to the process or kept beyond it. paths: null if none
    // are measured.
    WorkerAudit(WorkerMemory memory, const filter::AuditParams& params, const packet::KeySpec& key,
                const pipeline::AuditSecret& secret, pipeline::PortPairMatrix& crossings,
                std::unique_ptr<WorkerPaths> paths)
        : memory_(std::move(memory)),
          paths_(std::move(paths)),
          key_(key),
          audit_(params, memory_.bytes(), memory_.contents()),
          stage_(audit_, key_, secret, crossings, paths_ == nullptr ? nullptr : &paths_->table()) {}

    [[nodiscard]] pipeline::AuditStage& stage() { return stage_; }
    // Return null if no paths are measured.
    [[nodiscard]] std::shared_ptr<const pipeline::PathTotals> paths() const {
        return paths_ == nullptr ? nullptr : paths_->totals();
    }
    void keep(bool on) noexcept { memory_.keep(on); }

  private:
    WorkerMemory memory_;
    std::unique_ptr<WorkerPaths> paths_;
    packet::KeySpec key_;
    filter::Audit audit_;
    pipeline::AuditStage stage_;
};

}  // namespace unecho::appliance
