// SPDX-License-Identifier: BSD-3-Clause
// The configuration that workers run with, and its change by a reload.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "appliance/dataplane/worker.h"
#include "appliance/plan/plan.h"
#include "appliance/state/warm_restart_store.h"
#include "appliance/topology/worker_audit.h"
#include "appliance/topology/worker_filter.h"
#include "appliance/topology/worker_taps.h"
#include "base/result.h"
#include "filters/hash/secret.h"

namespace unecho::appliance {

// Input for a Topology: the plan, and what it does not say.
struct TopologyInput {
    const Plan* plan = nullptr;
    std::vector<PortId> ports;  // DPDK's numbers, in the plan's order
    const hash::Secret* secret = nullptr;
    const pipeline::AuditSecret* audit_secret = nullptr;  // if the plan has audits
    dataplane::TscClock clock{};
    unsigned burst = 32;
    std::uint32_t ring_size = 1024;
    bool capture_clock = false;
    std::uint64_t tx_retry_cycles = 0;
    bool hugepages = false;
    const dataplane::RssModel* card = nullptr;  // only with RSS
    std::string name = "unecho";                // prefix of ring names, unique in the process
    WarmRestartStore* state = nullptr;          // null: nothing outlives the process
};

// By worker, of a filter whose sites share the flows that they have seen.
using SharedFlowsLinks = std::vector<std::unique_ptr<dataplane::SharedFlowsLink>>;

// A filter, an audit and a tap report, each on all workers.
struct FilterSet {
    explicit FilterSet(const engines::FilterPlan& of) : plan(of) {}
    const engines::FilterPlan plan;
    dataplane::FilterShared shared;
    std::vector<std::unique_ptr<WorkerFilter>> workers;
    std::vector<pipeline::FilterContext> contexts;  // by worker
};
using AuditSet = std::vector<std::unique_ptr<WorkerAudit>>;
using TapSet = std::vector<std::unique_ptr<WorkerTaps>>;
using ConfidencePolicySet = std::vector<pipeline::ConfidencePolicy>;

// The effect of a reload on a filter of the new plan.
enum class FilterChange : std::uint8_t {
    kKept,      // same memory; new confidence policy if the rule changed
    kWarmed,    // replaced; until it knows a whole window, its predecessor is queried too
    kReplaced,  // replaced at once
    kNew,
};

// All that workers use under one plan. Memory that a reload keeps is shared with the setups before
// and after it. Arrays are indexed as workers index filters and routes.
struct WorkerConfigSet {
    std::shared_ptr<const Plan> plan;
    std::array<std::shared_ptr<FilterSet>, kMaxFilters> filters{};
    std::array<std::shared_ptr<ConfidencePolicySet>, kMaxFilters>
        confidence_policies{};  // null: the filter's own
    std::array<std::shared_ptr<AuditSet>, kMaxFilters> audits{};
    std::array<std::shared_ptr<TapSet>, kMaxRoutes> taps{};
    std::array<FilterIndex, kMaxFilters> before = dataplane::FilterStageSetup::no_predecessors();
    std::vector<std::vector<dataplane::RxQueue>> sources;  // by worker
    std::vector<dataplane::WorkerSetup> workers;

    [[nodiscard]] bool warms() const {
        return before != dataplane::FilterStageSetup::no_predecessors();
    }
};

// How a plan follows another one.
struct ConfigDiff {
    std::shared_ptr<const Plan> plan;
    std::vector<FilterChange> filters;  // one per filter of the plan
    std::vector<bool> judge_anew;       // likewise: a kept filter gets a new confidence policy
    std::vector<bool> audit_anew;       // likewise
    std::uint64_t tx_retry_cycles = 0;
};

// A reload as workers see it. They use `first` until packets underway under the previous plan have
// arrived and all filters are warm, then `last`. Switching allocates nothing.
struct ConfigTransition {
    std::unique_ptr<WorkerConfigSet> first;
    std::unique_ptr<WorkerConfigSet> last;  // null: `first` is final
    bool drains = false;                    // packets may be underway to routes that `last` lacks
    Nanoseconds warming = 0;                // warm-up time, on each worker's clock
};

}  // namespace unecho::appliance
