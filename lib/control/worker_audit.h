// SPDX-License-Identifier: BSD-3-Clause
// The audit of one filter on one worker, with its memory.
#pragma once

#include <memory>
#include <utility>

#include "base/result.h"
#include "dataplane/lanes.h"
#include "eal/huge_memory.h"

namespace unecho::control {

class WorkerAudit {
  public:
    // socket: where its memory should be; -1 for any.
    static Result<std::unique_ptr<WorkerAudit>> make(const filter::AuditParams& params,
                                                     const packet::KeySpec& key,
                                                     const pipeline::AuditSecret& secret,
                                                     pipeline::Crossings& crossings, int socket,
                                                     bool has_hugepages) {
        auto memory =
            eal::HugeMemory::allocate(filter::Audit::bytes(params), socket, has_hugepages);
        if (!memory) {
            return tl::unexpected(memory.error());
        }
        return std::unique_ptr<WorkerAudit>(
            new WorkerAudit(std::move(*memory), params, key, secret, crossings));
    }

    [[nodiscard]] pipeline::AuditStage& stage() { return stage_; }

  private:
    WorkerAudit(eal::HugeMemory memory, const filter::AuditParams& params,
                const packet::KeySpec& key, const pipeline::AuditSecret& secret,
                pipeline::Crossings& crossings)
        : memory_(std::move(memory)),
          key_(key),
          audit_(params, memory_.bytes()),
          stage_(audit_, key_, secret, crossings) {}

    eal::HugeMemory memory_;
    packet::KeySpec key_;
    filter::Audit audit_;
    pipeline::AuditStage stage_;
};

}  // namespace unecho::control
