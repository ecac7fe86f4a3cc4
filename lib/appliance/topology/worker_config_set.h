// SPDX-License-Identifier: BSD-3-Clause
// What workers work with by one plan, and how one such setup follows another.
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

namespace unecho::control {

// What the plan does not say.
struct TopologyInput {
    const Plan* plan = nullptr;
    std::vector<PortId> ports;  // DPDK's numbers, in the plan's order
    const hash::Secret* secret = nullptr;
    const pipeline::AuditSecret* audit_secret = nullptr;  // where the plan has audits
    dataplane::TscClock clock{};
    unsigned burst = 32;
    std::uint32_t ring_size = 1024;
    bool capture_clock = false;
    std::uint64_t tx_retry_cycles = 0;
    bool hugepages = false;
    const dataplane::RssModel* card = nullptr;  // with RSS
    std::string name = "unecho";                // rings are named after it, once in the process
    WarmRestartStore* state = nullptr;          // null: nothing outlives the process
};

// Of a filter whose sites share what they have seen; by worker.
using SharedFlowsLinks = std::vector<std::unique_ptr<dataplane::SharedFlowsLink>>;

// A filter, its audit, and the report of two taps, each on all workers.
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

// What becomes of a filter of the plan that is to be.
enum class FilterChange : std::uint8_t {
    kKept,      // the same memory; its judge begins anew if the rule is another one
    kWarmed,    // another one takes its place, beside which it is asked until that one knows all
    kReplaced,  // another one takes its place at once
    kNew,
};

// All that workers work with by one plan, with what it stands on: memory is shared with the setups
// before and behind it where it goes on.
struct WorkerConfigSet {
    std::shared_ptr<const Plan> plan;
    std::array<std::shared_ptr<FilterSet>, kMaxFilters> filters{};  // by place, as all of these
    std::array<std::shared_ptr<ConfidencePolicySet>, kMaxFilters>
        confidence_policies{};  // where not the filter's own
    std::array<std::shared_ptr<AuditSet>, kMaxFilters> audits{};
    std::array<std::shared_ptr<TapSet>, kMaxRoutes> taps{};
    std::array<FilterIndex, kMaxFilters> before = dataplane::FilterStageSetup::no_predecessors();
    std::vector<std::vector<dataplane::RxQueue>> sources;  // by worker
    std::vector<dataplane::WorkerSetup> workers;

    // Some filter is warmed.
    [[nodiscard]] bool warms() const {
        return before != dataplane::FilterStageSetup::no_predecessors();
    }
};

// How a plan follows another one.
struct ConfigDiff {
    std::shared_ptr<const Plan> plan;
    std::vector<FilterChange> filters;  // of the plan's
    std::vector<bool> judge_anew;       // the same; those that are kept
    std::vector<bool> audit_anew;       // the same
    std::uint64_t tx_retry_cycles = 0;
};

// A reload for workers: they adopt `first`; when all have, and what was underway by the plan before
// has arrived, and all filters are warm, `last`, which may be the same. Nothing is allocated then.
struct ConfigTransition {
    std::unique_ptr<WorkerConfigSet> first;
    std::unique_ptr<WorkerConfigSet> last;  // null: first is
    bool drains = false;                    // something may be underway to what `last` has no more
    Nanoseconds warming = 0;                // so long on each worker's clock
};

}  // namespace unecho::control
