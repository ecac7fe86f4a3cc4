// SPDX-License-Identifier: BSD-3-Clause
// appliance: from a configuration to running workers, and everything that is not done per packet:
// plan, start, control thread, reload, warm restart, statistics, telemetry.
//
// A start has three steps. plan/plan.h decides which lcore does what, with which memory; it is a
// pure function, and `unecho check` prints its result. This header carries the plan out: it starts
// DPDK, opens ports, allocates memory and builds workers, but runs nothing. supervisor.h is the
// control thread, which launches the workers, publishes turns of generations, supervises, drains
// and reports.
//
// May use base, filters, packets, dedup/engines, config, and the modules below appliance/. May not
// touch a packet while workers run, make a worker wait, or use captures or monitor.
//
// Next: topology/topology.h (workers and the rings between them), supervisor.h, reload/reload.h,
// state/warm_restart_store.h (filters that outlive the process), stats/stats.h and telemetry.h.
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

namespace unecho::appliance {

// Return the name by which telemetry finds a process of this configuration: [run] name, unless
// [eal] args have a --file-prefix.
std::string name_on_host(const config::Config& config);

struct ApplianceOptions {
    std::vector<std::string> eal_args;  // appended to those of the configuration
    bool verbose = false;               // also print DPDK's own log to stderr
};

// Everything that a run needs, built and ready. Members are destroyed in the reverse order of their
// construction.
class Appliance {
  public:
    // Start DPDK, open the ports and build the workers. Errc::kConfig if the configuration is at
    // fault, kNotFound if this host lacks what it needs; then no port was touched.
    static Result<std::unique_ptr<Appliance>> build(const config::Config& config,
                                                    const ApplianceOptions& options);
    ~Appliance();
    Appliance(const Appliance&) = delete;
    Appliance& operator=(const Appliance&) = delete;
    Appliance(Appliance&&) = delete;
    Appliance& operator=(Appliance&&) = delete;

    [[nodiscard]] const Plan& plan() const { return plan_; }
    [[nodiscard]] std::vector<eal::Port>& ports() { return ports_; }
    // Return this time in cycles of the TSC.
    [[nodiscard]] static std::uint64_t cycles_of(Nanoseconds time);
    // Close the ports. Call only when no worker runs any more.
    void close_ports(const Log& log);
    [[nodiscard]] dataplane::Worker& worker(std::size_t i) { return topology_->worker(i); }
    [[nodiscard]] dataplane::WorkerShared& shared(std::size_t i) { return topology_->shared(i); }
    [[nodiscard]] Topology& topology() { return *topology_; }
    [[nodiscard]] const Machine& machine() const { return machine_; }
    // Return the configuration of the start; reloads do not change it.
    [[nodiscard]] const config::Config& config() const { return config_; }
    // Return the store of filters that outlive the process; null without [state] dir.
    [[nodiscard]] WarmRestartStore* state() { return state_.get(); }
    // Return the shared flow store of the filter of this name; null if it has none.
    [[nodiscard]] shared_flows::SharedFlows* root(const std::string& filter) const;
    [[nodiscard]] const std::map<std::string, std::unique_ptr<shared_flows::SharedFlows>>& roots()
        const {
        return shared_flows_;
    }
    [[nodiscard]] const dataplane::TscClock& clock() const { return clock_; }
    // Return the bytes of filter memory for each page size in bytes.
    [[nodiscard]] std::map<std::uint64_t, std::uint64_t> filter_bytes_by_page() const {
        return topology_->filter_bytes_by_page();
    }

    // Return the socket that members of [run] telemetry_group connect to; -1 without a group.
    [[nodiscard]] int monitor_socket() const {
        return monitor_socket_ ? monitor_socket_->descriptor() : -1;
    }

  private:
    explicit Appliance(const config::Config& config)
        : config_(config), machine_(Machine::detect()) {}

    Status start_eal(const ApplianceOptions& options);
    // Check what the host offers; add arguments for memory if there are no hugepages.
    Status check_host(const Plan& plan, std::vector<std::string>& eal_args);
    Status open_ports();
    Status bring_up_ports();
    Status open_state();
    Status end_start_of_state();
    Status make_clock();
    Status make_secret();
    Status make_workers();
    Status start_shared_flows();

    const config::Config config_;
    const Machine machine_;  // read before DPDK pins the main thread to one CPU
    Plan plan_;
    std::optional<dataplane::RssModel> card_;  // only with RSS
    std::optional<gid_t> telemetry_group_;
    std::optional<eal::MonitorSocket> monitor_socket_;
    bool name_is_taken_ = false;
    std::vector<std::string> host_notes_;  // on what the host lacks
    std::unique_ptr<eal::Session> session_;
    eal::Mempool pool_;
    std::vector<eal::Port> ports_;
    hash::Secret secret_{};
    pipeline::AuditSecret audit_secret_{};
    std::unique_ptr<WarmRestartStore> state_;
    ClockReading started_;
    dataplane::TscClock clock_;
    std::unique_ptr<Topology> topology_;
    std::vector<std::unique_ptr<shared_flows::FlowFeed>> feeds_;
    std::map<std::string, std::unique_ptr<shared_flows::SharedFlows>>
        shared_flows_;  // by the filter's name
};

}  // namespace unecho::appliance
