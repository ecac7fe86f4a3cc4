// SPDX-License-Identifier: BSD-3-Clause
// What setups stand on: filters, audits and reports of two taps, each on all workers, in memory of
// the worker's socket, of the process or kept beyond it. Handed on from one setup to the next.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "appliance/topology/worker_config_set.h"
#include "base/result.h"

namespace unecho::control {

class WorkerMemoryFactory {
  public:
    struct Worker {
        LcoreId lcore = 0;
        pipeline::PortPairMatrix* crossings = nullptr;  // of all its audits
    };

    // The input and what workers point to stay.
    WorkerMemoryFactory(const TopologyInput& input, std::vector<Worker> workers);

    // The filters, judges, audits and taps of setup.plan: those of `from` (null: there is none)
    // that the change keeps, others made. Errc::kNoMemory; Errc::kConfig where no place is left
    // beside which a filter could be warmed; what engines refuse, and WarmRestartStore of its
    // files.
    Status fill(WorkerConfigSet& setup, const ConfigDiff& change,
                const WorkerConfigSet* from) const;

  private:
    using KeptOf = std::function<Result<WarmRestartMemory>(WarmRestartStore&)>;

    Status fill_filters(WorkerConfigSet& setup, const ConfigDiff& change,
                        const WorkerConfigSet* from) const;
    Status fill_taps(WorkerConfigSet& setup, const WorkerConfigSet* from) const;
    Status fill_audits(WorkerConfigSet& setup, const ConfigDiff& change,
                       const WorkerConfigSet* from) const;
    Result<std::shared_ptr<FilterSet>> make_filter(const engines::FilterPlan& plan) const;
    Result<std::unique_ptr<WorkerFilter>> make_worker_filter(const engines::FilterPlan& plan,
                                                             std::size_t worker) const;
    Result<std::shared_ptr<TapSet>> make_taps(const Plan& plan, const RoutePlan& route) const;
    Result<std::shared_ptr<AuditSet>> make_audit(const Plan& plan, std::size_t filter) const;
    Result<WorkerMemory> make_memory(std::size_t worker, std::uint64_t bytes,
                                     const KeptOf& kept) const;

    const TopologyInput& input_;
    std::vector<Worker> workers_;
};

}  // namespace unecho::control
