// SPDX-License-Identifier: BSD-3-Clause
// The rings between each two workers: one for packets that the other decides, one for packets that
// it transmits. Only the control thread uses this class; workers have the rings themselves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "appliance/eal/ports/ring.h"
#include "appliance/plan/plan.h"
#include "base/ids.h"
#include "base/result.h"

namespace unecho::appliance {

class WorkerRings {
  public:
    // size: packets that each ring holds. name: prefix of their names, unique in the process.
    WorkerRings(std::size_t workers, std::string name, std::uint32_t size);

    // Make the rings that a plan needs; existing ones stay. steers: some packets are decided by
    // another worker than the one that received them. Errc::kNoMemory.
    Status connect(const Plan& plan, bool steers);

    // Return null if there is no such ring.
    [[nodiscard]] rte_ring* deciding(WorkerIndex from, WorkerIndex to) const {
        return deciding_[from][to];
    }
    [[nodiscard]] rte_ring* sending(WorkerIndex from, WorkerIndex to) const {
        return sending_[from][to];
    }

    // Return the present fill positions of the rings. passed() is true once all packets up to them
    // were dequeued.
    [[nodiscard]] std::vector<std::uint32_t> mark() const;
    [[nodiscard]] bool passed(const std::vector<std::uint32_t>& marks) const;

  private:
    Status connect_pair(const Plan& plan, bool steers, WorkerIndex from, WorkerIndex to);
    Result<rte_ring*> make(const char* kind, WorkerIndex from, WorkerIndex to);

    std::string name_;
    std::uint32_t size_;
    std::vector<eal::Ring> rings_;
    std::vector<std::vector<rte_ring*>> deciding_;  // [from][to]
    std::vector<std::vector<rte_ring*>> sending_;
};

}  // namespace unecho::appliance
