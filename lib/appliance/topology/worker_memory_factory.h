// SPDX-License-Identifier: BSD-3-Clause
// Makes filters, audits and tap reports on all workers, and hands them on from one setup to the
// next. Their memory is on the worker's socket, private to the process or kept beyond it.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "appliance/topology/worker_config_set.h"
#include "base/result.h"

namespace unecho::appliance {

class WorkerMemoryFactory {
  public:
    struct Worker {
        LcoreId lcore = 0;
        pipeline::PortPairMatrix* crossings = nullptr;  // of all its audits
    };

    // input, and what workers points to, must outlive this object.
    WorkerMemoryFactory(const TopologyInput& input, std::vector<Worker> workers);

    // Fill in the filters, confidence policies, audits and tap reports of setup.plan. Take from
    // `from` (null at the start) what the change keeps, and make the others. Errc::kNoMemory;
    // Errc::kConfig if no index is free for the predecessor of a filter to be warmed; errors of
    // engines and of WarmRestartStore.
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
    Result<std::unique_ptr<WorkerPaths>> make_paths(const engines::PathPlan& plan,
                                                    std::size_t worker) const;
    Result<WorkerMemory> make_memory(std::size_t worker, std::uint64_t bytes,
                                     const KeptOf& kept) const;

    const TopologyInput& input_;
    std::vector<Worker> workers_;
};

}  // namespace unecho::appliance
