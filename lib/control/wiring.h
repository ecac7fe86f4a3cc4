// SPDX-License-Identifier: BSD-3-Clause
// The workers of a plan, each with all that is its own, and the rings between them. Ports are
// started elsewhere and only named here, so tests wire workers over ports of their own as the
// appliance does.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "control/kept_state.h"
#include "control/plan.h"
#include "control/worker_audit.h"
#include "control/worker_filter.h"
#include "control/worker_taps.h"
#include "dataplane/worker.h"
#include "eal/ring.h"
#include "hash/secret.h"

namespace unecho::control {

// What the plan does not say.
struct WiringInput {
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
    KeptState* state = nullptr;                 // null: nothing outlives the process
};

// Of a filter whose sites share what they have seen; by worker.
using RootLinks = std::vector<std::unique_ptr<dataplane::RootLink>>;

// A filter, its audit, and the report of two taps, each on all workers.
struct FilterSet {
    explicit FilterSet(const engines::FilterPlan& of) : plan(of) {}
    const engines::FilterPlan plan;
    dataplane::FilterShared shared;
    std::vector<std::unique_ptr<WorkerFilter>> workers;
    std::vector<pipeline::Lane> lanes;  // by worker
};
using AuditSet = std::vector<std::unique_ptr<WorkerAudit>>;
using TapSet = std::vector<std::unique_ptr<WorkerTaps>>;
using JudgeSet = std::vector<pipeline::Judge>;

// What becomes of a filter of the plan that is to be.
enum class FilterChange : std::uint8_t {
    kKept,      // the same memory; its judge begins anew if the rule is another one
    kWarmed,    // another one takes its place, beside which it is asked until that one knows all
    kReplaced,  // another one takes its place at once
    kNew,
};

// All that workers work with by one plan, with what it stands on: memory is shared with the setups
// before and behind it where it goes on.
struct WiringSetup {
    std::shared_ptr<const Plan> plan;
    std::array<std::shared_ptr<FilterSet>, kMaxFilters> filters{};  // by place, as all of these
    std::array<std::shared_ptr<JudgeSet>, kMaxFilters> judges{};    // where not the filter's own
    std::array<std::shared_ptr<AuditSet>, kMaxFilters> audits{};
    std::array<std::shared_ptr<TapSet>, kMaxRoutes> taps{};
    std::array<FilterIndex, kMaxFilters> before = dataplane::LanesSetup::none_before();
    std::vector<std::vector<dataplane::RxSource>> sources;  // by worker
    std::vector<dataplane::WorkerSetup> workers;

    // Some filter is warmed.
    [[nodiscard]] bool warms() const;
};

// How a plan follows another one.
struct SetupChange {
    std::shared_ptr<const Plan> plan;
    std::vector<FilterChange> filters;  // of the plan's
    std::vector<bool> judge_anew;       // the same; those that are kept
    std::vector<bool> audit_anew;       // the same
    std::uint64_t tx_retry_cycles = 0;
};

// A reload for workers: they adopt `first`; when all have, and what was underway by the plan before
// has arrived, and all filters are warm, `last`, which may be the same. Nothing is allocated then.
struct SetupSteps {
    std::unique_ptr<WiringSetup> first;
    std::unique_ptr<WiringSetup> last;  // null: first is
    bool drains = false;                // something may be underway to what `last` has no more
    Nanoseconds warming = 0;            // so long on each worker's clock
};

class Wiring {
  public:
    static Result<std::unique_ptr<Wiring>> make(const WiringInput& input);
    Wiring(const Wiring&) = delete;
    Wiring& operator=(const Wiring&) = delete;
    Wiring(Wiring&&) = delete;
    Wiring& operator=(Wiring&&) = delete;
    ~Wiring() = default;

    [[nodiscard]] std::size_t workers() const { return parts_.size(); }
    [[nodiscard]] dataplane::Worker& worker(std::size_t i) { return *parts_[i]->worker; }
    [[nodiscard]] dataplane::WorkerShared& shared(std::size_t i) { return parts_[i]->shared; }
    // What workers have adopted, or are to.
    [[nodiscard]] const WiringSetup& present() const { return *present_; }
    [[nodiscard]] const dataplane::WorkerSetup& setup(std::size_t i) const {
        return present_->workers[i];
    }
    // Of a filter with a root.
    [[nodiscard]] const RootLinks& root_links(const std::string& filter) const {
        return roots_.at(filter);
    }
    // For tests; by place.
    [[nodiscard]] WorkerFilter& filter_of(std::size_t worker, std::size_t place) {
        return *present_->filters[place]->workers[worker];
    }
    [[nodiscard]] dataplane::FilterShared& filter_shared(std::size_t place) {
        return present_->filters[place]->shared;
    }
    // What the filters take, by the size of the pages that it lies in; both in bytes.
    [[nodiscard]] std::map<std::uint64_t, std::uint64_t> filter_bytes_by_page() const;

    // Allocates all of another plan, while workers go on with the present one.
    Result<SetupSteps> prepare(const SetupChange& change);
    // Workers are to go on with it. The one before, which is to stay until adopted().
    std::unique_ptr<WiringSetup> publish(std::unique_ptr<WiringSetup> setup);
    // All workers go on with the present one.
    [[nodiscard]] bool adopted() const;
    // What lies in rings now; and that it has left them.
    [[nodiscard]] std::vector<std::uint32_t> mark_rings() const;
    [[nodiscard]] bool passed(const std::vector<std::uint32_t>& marks) const;

  private:
    // What belongs to one worker; stays where it is.
    struct WorkerParts {
        std::vector<dataplane::HeldBack> held_back;
        std::vector<dataplane::ReadAhead> ahead;
        std::vector<MergeHead> merge_order;
        std::vector<std::uint8_t> scratch;
        pipeline::Crossings crossings{};  // of all audits
        dataplane::WorkerShared shared;
        std::unique_ptr<dataplane::Worker> worker;
    };

    explicit Wiring(const WiringInput& input);
    Status make_parts();
    Result<std::unique_ptr<WiringSetup>> make_setup(const SetupChange& change,
                                                    const WiringSetup* from);
    void fill_common(WiringSetup& setup, WorkerIndex worker);
    void fill_sources(WiringSetup& setup, const WiringSetup* from, WorkerIndex worker) const;
    void fill_routes(WiringSetup& setup, const WiringSetup* from, WorkerIndex worker) const;
    void fill_ways(WiringSetup& setup, WorkerIndex worker);
    void fill_lanes(WiringSetup& setup, WorkerIndex worker);
    void fill_roots(WiringSetup& setup, WorkerIndex worker) const;
    void fill_taps(WiringSetup& setup, WorkerIndex worker) const;
    void make_room_to_wait(WiringSetup& setup, WorkerIndex worker);
    Status make_filters(WiringSetup& setup, const SetupChange& change, const WiringSetup* from);
    Status make_taps(WiringSetup& setup, const WiringSetup* from) const;
    Status make_audits(WiringSetup& setup, const SetupChange& change, const WiringSetup* from);
    Result<std::shared_ptr<FilterSet>> make_filter(const engines::FilterPlan& plan) const;
    // Null: nothing of it outlives the process.
    using KeptOf = std::function<Result<KeptMemory>(KeptState&)>;
    Result<WorkerMemory> make_memory(std::size_t worker, std::uint64_t bytes,
                                     const KeptOf& kept) const;
    Result<std::unique_ptr<WorkerFilter>> make_worker_filter(const engines::FilterPlan& plan,
                                                             std::size_t worker) const;
    Result<std::shared_ptr<TapSet>> make_taps_of(const Plan& plan, const RoutePlan& route) const;
    Result<std::shared_ptr<AuditSet>> make_audit(const Plan& plan, std::size_t filter) const;
    std::unique_ptr<WiringSetup> last_of(const WiringSetup& first) const;
    Status find_mbuf_fields();
    Status connect(const Plan& plan);
    Status connect_pair(const Plan& plan, WorkerIndex from, WorkerIndex to);
    // Between each two workers there is a ring for packets to decide.
    [[nodiscard]] bool steers(const Plan& plan) const {
        return plan.steering == Steering::kRing || input_.card != nullptr;
    }
    [[nodiscard]] static bool sends_through(const Plan& plan, WorkerIndex from, WorkerIndex to);
    [[nodiscard]] int socket_of(std::size_t worker) const;
    Result<rte_ring*> new_ring(const char* kind, WorkerIndex from, WorkerIndex to);

    const WiringInput input_;
    std::vector<LcoreId> lcores_;
    std::vector<eal::Ring> rings_;
    std::vector<std::vector<rte_ring*>> steer_rings_;  // from, to
    std::vector<std::vector<rte_ring*>> tx_rings_;
    int timestamp_offset_ = -1;
    int tag_offset_ = -1;
    std::uint64_t tx_retry_cycles_;
    std::vector<std::unique_ptr<WorkerParts>> parts_;
    std::map<std::string, RootLinks> roots_;  // by the filter's name; no reload changes them
    std::unique_ptr<WiringSetup> present_;
};

}  // namespace unecho::control
