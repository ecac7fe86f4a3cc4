// SPDX-License-Identifier: BSD-3-Clause
// The plan made real: DPDK started, ports open, memory allocated, workers built; nothing runs yet.
// Parts are destroyed in the reverse order of their construction.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "appliance/eal/ports/mempool.h"
#include "appliance/eal/ports/port.h"
#include "appliance/eal/session.h"
#include "appliance/eal/telemetry_access.h"
#include "appliance/plan/plan.h"
#include "appliance/shared_flows/shared_flows.h"
#include "appliance/timers/tsc_rate.h"
#include "appliance/topology/topology.h"
#include "base/os/log.h"
#include "base/result.h"
#include "config/schema.h"
#include "filters/hash/secret.h"

namespace unecho::control {

struct ApplianceOptions {
    std::vector<std::string> eal_args;  // behind those of the configuration
    bool verbose = false;               // DPDK's own log to stderr
};

class Appliance {
  public:
    // Errc::kConfig where the configuration is to blame.
    static Result<std::unique_ptr<Appliance>> build(const config::Config& config,
                                                    const ApplianceOptions& options);
    ~Appliance();
    Appliance(const Appliance&) = delete;
    Appliance& operator=(const Appliance&) = delete;
    Appliance(Appliance&&) = delete;
    Appliance& operator=(Appliance&&) = delete;

    [[nodiscard]] const Plan& plan() const { return plan_; }
    [[nodiscard]] std::vector<eal::Port>& ports() { return ports_; }
    // Of the processor's counter.
    [[nodiscard]] static std::uint64_t cycles_of(Nanoseconds time);
    // When no worker runs any more.
    void close_ports(const Log& log);
    [[nodiscard]] dataplane::Worker& worker(std::size_t i) { return wiring_->worker(i); }
    [[nodiscard]] dataplane::WorkerShared& shared(std::size_t i) { return wiring_->shared(i); }
    [[nodiscard]] Topology& topology() { return *wiring_; }
    [[nodiscard]] const Machine& machine() const { return machine_; }
    // That with which it was built.
    [[nodiscard]] const config::Config& config() const { return config_; }
    // What outlives the process; null: nothing.
    [[nodiscard]] WarmRestartStore* state() { return state_.get(); }
    // Of the filter of this name, that sites share; null: it has none.
    [[nodiscard]] root::SharedFlows* root(const std::string& filter) const;
    [[nodiscard]] const std::map<std::string, std::unique_ptr<root::SharedFlows>>& roots() const {
        return roots_;
    }
    // The workers' clock.
    [[nodiscard]] const dataplane::TscClock& clock() const { return clock_; }
    // What the filters take, by the size of the pages that it lies in; both in bytes.
    [[nodiscard]] std::map<std::uint64_t, std::uint64_t> filter_bytes_by_page() const {
        return wiring_->filter_bytes_by_page();
    }

    // Where members of [run] telemetry_group ask; -1 without one.
    [[nodiscard]] int monitor_socket() const {
        return monitor_socket_ ? monitor_socket_->descriptor() : -1;
    }

  private:
    explicit Appliance(const config::Config& config)
        : config_(config), machine_(Machine::detect()) {}

    Status start_eal(const ApplianceOptions& options);
    Status open_ports();
    Status bring_up_ports();
    Status open_state();
    Status end_start_of_state();
    Status make_clock();
    Status make_secret();
    Status make_workers();
    Status start_roots();

    const config::Config config_;
    const Machine machine_;  // as it was before DPDK pinned the main thread to one CPU
    Plan plan_;
    std::optional<dataplane::RssModel> card_;  // with RSS
    std::optional<gid_t> telemetry_group_;
    std::optional<eal::MonitorSocket> monitor_socket_;
    bool name_is_taken_ = false;
    std::unique_ptr<eal::Session> session_;
    eal::Mempool pool_;
    std::vector<eal::Port> ports_;
    hash::Secret secret_{};
    pipeline::AuditSecret audit_secret_{};
    std::unique_ptr<WarmRestartStore> state_;
    ClockReading started_;
    dataplane::TscClock clock_;
    std::unique_ptr<Topology> wiring_;
    std::vector<std::unique_ptr<root::FlowFeed>> feeds_;
    std::map<std::string, std::unique_ptr<root::SharedFlows>> roots_;  // by the filter's name
};

}  // namespace unecho::control
