// SPDX-License-Identifier: BSD-3-Clause
// The audit of one filter on one worker, with its memory.
#pragma once

#include <utility>

#include "appliance/dataplane/filter_stage.h"
#include "appliance/plan/worker_memory.h"

namespace unecho::appliance {

class WorkerAudit {
  public:
    // memory: Audit::bytes(params), private to the process or kept beyond it.
    WorkerAudit(WorkerMemory memory, const filter::AuditParams& params, const packet::KeySpec& key,
                const pipeline::AuditSecret& secret, pipeline::PortPairMatrix& crossings)
        : memory_(std::move(memory)),
          key_(key),
          audit_(params, memory_.bytes(), memory_.contents()),
          stage_(audit_, key_, secret, crossings) {}

    [[nodiscard]] pipeline::AuditStage& stage() { return stage_; }
    void keep(bool on) noexcept { memory_.keep(on); }

  private:
    WorkerMemory memory_;
    packet::KeySpec key_;
    filter::Audit audit_;
    pipeline::AuditStage stage_;
};

}  // namespace unecho::appliance
