// SPDX-License-Identifier: BSD-3-Clause
// The rings between each two workers: for packets that another one decides, and for those that
// another one sends. Only the control thread calls this; workers have the rings themselves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "appliance/eal/ports/ring.h"
#include "appliance/plan/plan.h"
#include "base/ids.h"
#include "base/result.h"

namespace unecho::control {

class WorkerRings {
  public:
    // Each has room for `size` packets and is named after `name`, which is there once in the
    // process.
    WorkerRings(std::size_t workers, std::string name, std::uint32_t size);

    // Makes those that a plan needs; those that are there stay. steers: packets are decided by
    // others than who received them. Errc::kNoMemory.
    Status connect(const Plan& plan, bool steers);

    // Null: there is none.
    [[nodiscard]] rte_ring* deciding(WorkerIndex from, WorkerIndex to) const {
        return deciding_[from][to];
    }
    [[nodiscard]] rte_ring* sending(WorkerIndex from, WorkerIndex to) const {
        return sending_[from][to];
    }

    // What lies in them now; and that it has left them.
    [[nodiscard]] std::vector<std::uint32_t> mark() const;
    [[nodiscard]] bool passed(const std::vector<std::uint32_t>& marks) const;

  private:
    Status connect_pair(const Plan& plan, bool steers, WorkerIndex from, WorkerIndex to);
    Result<rte_ring*> make(const char* kind, WorkerIndex from, WorkerIndex to);

    std::string name_;
    std::uint32_t size_;
    std::vector<eal::Ring> rings_;
    std::vector<std::vector<rte_ring*>> deciding_;  // from, to
    std::vector<std::vector<rte_ring*>> sending_;
};

}  // namespace unecho::control
