// SPDX-License-Identifier: BSD-3-Clause
// topology: the workers of a plan, what each of them owns, and the rings between them. It does not
// start ports but only names them, so tests build workers over their own ports like the appliance.
//
// Next: worker_config_set.h (what workers are given), worker_memory_factory.h (filters and their
// memory), worker_rings.h, port_start.h, and dataplane/worker.h, which runs all this.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "appliance/topology/worker_config_set.h"
#include "appliance/topology/worker_memory_factory.h"
#include "appliance/topology/worker_rings.h"
#include "base/result.h"

namespace unecho::appliance {

class Topology {
  public:
    static Result<std::unique_ptr<Topology>> make(const TopologyInput& input);
    Topology(const Topology&) = delete;
    Topology& operator=(const Topology&) = delete;
    Topology(Topology&&) = delete;
    Topology& operator=(Topology&&) = delete;
    ~Topology() = default;

    [[nodiscard]] std::size_t workers() const { return parts_.size(); }
    [[nodiscard]] dataplane::Worker& worker(std::size_t i) { return *parts_[i]->worker; }
    [[nodiscard]] dataplane::WorkerShared& shared(std::size_t i) { return parts_[i]->shared; }
    // Return the setup that workers use, or are about to use.
    [[nodiscard]] const WorkerConfigSet& present() const { return *present_; }
    [[nodiscard]] const dataplane::WorkerSetup& setup(std::size_t i) const {
        return present_->workers[i];
    }
    // Return the links of a filter with a shared flow store, by worker.
    [[nodiscard]] const SharedFlowsLinks& shared_flows_links(const std::string& filter) const {
        return shared_flows_.at(filter);
    }
    // By index at workers; for tests.
    [[nodiscard]] WorkerFilter& filter_of(std::size_t worker, std::size_t place) {
        return *present_->filters[place]->workers[worker];
    }
    [[nodiscard]] dataplane::FilterShared& filter_shared(std::size_t place) {
        return present_->filters[place]->shared;
    }
    [[nodiscard]] std::map<std::uint64_t, std::uint64_t> filter_bytes_by_page() const;
    // Return what workers count of paths, by index of the filter and by worker.
    [[nodiscard]] std::array<std::vector<std::shared_ptr<const pipeline::PathTotals>>, kMaxFilters>
    path_totals() const;

    // Allocate everything for another plan, while workers use the present one.
    Result<ConfigTransition> prepare(const ConfigDiff& change);
    // Give workers this setup. Return the previous one; keep it alive until adopted().
    std::unique_ptr<WorkerConfigSet> publish(std::unique_ptr<WorkerConfigSet> setup);
    // Return true if all workers use the present setup.
    [[nodiscard]] bool adopted() const;
    [[nodiscard]] const WorkerRings& rings() const { return rings_; }

  private:
    // The parts of one worker, at fixed addresses.
    struct WorkerParts {
        std::vector<dataplane::Backlog> backlog;
        std::vector<dataplane::ReadAhead> ahead;
        std::vector<MergeHead> merge_order;
        std::vector<std::uint8_t> scratch;
        pipeline::PortPairMatrix crossings{};  // of all audits
        pipeline::PortPairMatrix answers{};    // of all union rules
        dataplane::WorkerShared shared;
        std::unique_ptr<dataplane::Worker> worker;
    };
    using AllParts = std::vector<std::unique_ptr<WorkerParts>>;

    explicit Topology(const TopologyInput& input);
    static AllParts make_parts(const TopologyInput& input);
    static std::vector<WorkerMemoryFactory::Worker> places_of(const Plan& plan,
                                                              const AllParts& parts);
    Status find_mbuf_fields();
    Result<std::unique_ptr<WorkerConfigSet>> make_setup(const ConfigDiff& change,
                                                        const WorkerConfigSet* from);
    void fill_common(WorkerConfigSet& setup, WorkerIndex worker);
    void fill_sources(WorkerConfigSet& setup, const WorkerConfigSet* from,
                      WorkerIndex worker) const;
    void fill_routes(WorkerConfigSet& setup, const WorkerConfigSet* from, WorkerIndex worker) const;
    void fill_ways(WorkerConfigSet& setup, WorkerIndex worker);
    void fill_filters(WorkerConfigSet& setup, WorkerIndex worker);
    void fill_roots(WorkerConfigSet& setup, WorkerIndex worker) const;
    void fill_taps(WorkerConfigSet& setup, WorkerIndex worker) const;
    void make_room_to_wait(WorkerConfigSet& setup, WorkerIndex worker);
    static std::unique_ptr<WorkerConfigSet> last_of(const WorkerConfigSet& first);

    const TopologyInput input_;
    WorkerRings rings_;
    int timestamp_offset_ = -1;
    int tag_offset_ = -1;
    std::uint64_t tx_retry_cycles_;
    AllParts parts_;
    WorkerMemoryFactory memory_;
    std::map<std::string, SharedFlowsLinks>
        shared_flows_;  // by the filter's name; fixed at the start
    std::unique_ptr<WorkerConfigSet> present_;
};

}  // namespace unecho::appliance
