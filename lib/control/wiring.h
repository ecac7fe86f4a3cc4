// SPDX-License-Identifier: BSD-3-Clause
// The workers of a plan, each with all that is its own, and the rings between them. Ports are
// started elsewhere and only named here, so tests wire workers over ports of their own as the
// appliance does.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
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
    // For tests.
    [[nodiscard]] const dataplane::WorkerSetup& setup(std::size_t i) const { return setups_[i]; }
    [[nodiscard]] std::vector<std::unique_ptr<WorkerFilter>>& filters_of(std::size_t worker) {
        return parts_[worker]->filters;
    }
    [[nodiscard]] dataplane::FilterShared& filter_shared(std::size_t i) {
        return filter_shared_[i];
    }
    // What the filters take, by the size of the pages that it lies in; both in bytes.
    [[nodiscard]] std::map<std::uint64_t, std::uint64_t> filter_bytes_by_page() const;

  private:
    // What belongs to one worker; stays where it is.
    struct WorkerParts {
        std::vector<dataplane::RxSource> sources;
        std::vector<dataplane::HeldBack> held_back;
        std::vector<dataplane::ReadAhead> ahead;
        std::vector<MergeHead> merge_order;
        std::vector<std::uint8_t> scratch;
        std::vector<std::unique_ptr<WorkerFilter>> filters;
        std::vector<std::unique_ptr<WorkerTaps>> taps;
        std::vector<std::unique_ptr<WorkerAudit>> audits;
        pipeline::Crossings crossings{};  // of all of them
        dataplane::WorkerShared shared;
        std::unique_ptr<dataplane::Worker> worker;
    };

    explicit Wiring(const WiringInput& input);
    Status make_workers();
    void fill_common(WorkerIndex worker);
    void fill_sources(WorkerIndex worker);
    void fill_routes(dataplane::WorkerSetup& setup) const;
    void fill_ways(WorkerIndex worker);
    Status make_filters(WorkerIndex worker);
    void make_room_to_wait(WorkerIndex worker);
    Status make_taps(WorkerIndex worker);
    Status make_audits(WorkerIndex worker);
    Status find_mbuf_fields();
    Status connect();
    Status connect_pair(WorkerIndex from, WorkerIndex to);
    // Between each two workers there is a ring for packets to decide.
    [[nodiscard]] bool steers() const {
        return plan_.steering == Steering::kRing || input_.card != nullptr;
    }
    [[nodiscard]] bool sends_through(WorkerIndex from, WorkerIndex to) const;
    Result<rte_ring*> new_ring(const char* kind, WorkerIndex from, WorkerIndex to);

    const WiringInput input_;
    const Plan& plan_;
    std::vector<eal::Ring> rings_;
    std::unique_ptr<dataplane::FilterShared[]> filter_shared_;
    std::vector<std::unique_ptr<WorkerParts>> parts_;
    std::vector<dataplane::WorkerSetup> setups_;
};

}  // namespace unecho::control
