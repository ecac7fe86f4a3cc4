// SPDX-License-Identifier: BSD-3-Clause
// stats: counts of a running appliance, from snapshots of the workers' counters, as data, JSON and
// text. Reading them never makes a worker wait.
//
// Next: stats_fold.h (how snapshots add up), counter_log.h (the last hour), telemetry.h (DPDK's
// socket) and monitor_server.h (unecho's own), events.h.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "appliance/dataplane/counters.h"
#include "appliance/dataplane/shared.h"
#include "appliance/eal/ports/port.h"
#include "appliance/plan/plan.h"
#include "appliance/stats/counter_log.h"
#include "appliance/stats/events.h"
#include "appliance/watchdog/stall_log.h"

namespace unecho::appliance {

struct DispositionCounts {
    std::uint64_t received = 0;
    std::uint64_t forwarded = 0;
    std::uint64_t diverted = 0;
    std::uint64_t dropped = 0;
    std::uint64_t in_flight = 0;  // never negative
};
inline constexpr CounterRows<DispositionCounts, 5> kDispositionCounters{{
    {&DispositionCounts::received, "received", CounterUnit::kPackets, CounterMerge::kSum,
     "taken from ports"},
    {&DispositionCounts::forwarded, "forwarded", CounterUnit::kPackets, CounterMerge::kSum,
     "sent to the port that the route leads to"},
    {&DispositionCounts::diverted, "diverted", CounterUnit::kPackets, CounterMerge::kSum,
     "sent to the port that on_echo names"},
    {&DispositionCounts::dropped, "dropped", CounterUnit::kPackets, CounterMerge::kSum,
     "sent nowhere"},
    {&DispositionCounts::in_flight, "in_flight", CounterUnit::kPackets, CounterMerge::kSum,
     "received, and none of the others yet: between workers, or settled since the last look; 0 "
     "when nothing moves"},
}};
static_assert(describes_every_counter(kDispositionCounters));

// The flows that two taps saw, on all workers.
struct TapTotals {
    bool ended = false;       // some window has ended
    filter::TapWindow last;   // the last that ended on any worker
    filter::TapCounts total;  // of all windows, with the present one
};

struct RouteReport {
    DispositionCounts counts;
    std::array<pipeline::PacketBytes, pipeline::kReasons> reasons{};
    TapTotals taps;  // if the plan's route has a tap report
};

struct PortReport : eal::DeviceCounters {
    pipeline::PacketBytes rx;
    pipeline::PacketBytes tx;
    bool link_up = false;
};

struct WorkerReport : dataplane::WorkerCounters {
    bool answering = true;  // false: the counters are of an earlier reply
    pipeline::PacketBytes rx;
    std::uint64_t settled = 0;  // packets that this worker gave a reason
    dataplane::PollTimes poll_times;
    std::vector<StallRecord> stall_log;  // the newest
};

struct FilterLoad {
    std::uint64_t fill = 0;
    std::uint64_t planned_fill = 0;
    std::uint64_t generation = 0;
    std::uint64_t longest_generation = 0;
};
inline constexpr CounterRows<FilterLoad, 4> kFilterLoad{{
    {&FilterLoad::fill, "fill", CounterUnit::kCount, CounterMerge::kMax,
     "what its fullest generation took (line: tick; exact: its entries; tlbf: its cache lines), "
     "on the fullest worker"},
    {&FilterLoad::planned_fill, "planned_fill", CounterUnit::kCount, CounterMerge::kMax,
     "how much of that it is planned for at most"},
    {&FilterLoad::generation, "generation", CounterUnit::kNanoseconds, CounterMerge::kMax,
     "how long a generation (of line: a tick) is planned to last; 0: it has none"},
    {&FilterLoad::longest_generation, "longest_generation", CounterUnit::kNanoseconds,
     CounterMerge::kMax,
     "the longest generation since the start, 0 where none ended; longer than planned: its turn "
     "was late"},
}};
static_assert(describes_every_counter(kFilterLoad));

struct SharedFlowsReport {
    dataplane::SharedFlowsCounters asks;  // of all workers
    shared_flows::Counters answers;
};

// longest_generation comes from the rotation timer.
struct FilterReport : FilterLoad {
    filter::FilterCounters counters;           // of all workers
    filter::RepeatCounters repeats;            // likewise; 0 unless repeats are kept
    packet::TunnelCounters tunnels;            // likewise; 0 unless tunnels are opened
    filter::WindowState window;                // shortest of all workers; turns of all together
    pipeline::AuditTotals audit;               // of all workers; smallest share of any
    SharedFlowsReport root;                    // if the plan has one for this filter
    std::vector<pipeline::PathCount> paths;    // of all workers, by `from` and `to`; empty: none
    pipeline::PathSampleCounters path_sample;  // likewise
    BusiestHour busiest;                       // of its insertions; telemetry adds it
};

// Steps back of the packets' timestamps that began an epoch (base/packet_clock.h).
struct EpochReport {
    std::uint64_t count = 0;
    dataplane::Counters::Epoch first;
};

struct StatsReport {
    std::shared_ptr<const Plan> plan;  // of the counters; a reload may have replaced it since
    EpochReport epochs;
    DispositionCounts totals;
    std::array<pipeline::PacketBytes, pipeline::kReasons> reasons{};
    std::vector<PortReport> ports;
    std::vector<RouteReport> routes;
    RouteReport gone;  // all routes that reloads removed
    std::vector<WorkerReport> workers;
    std::vector<FilterReport> filters;
    std::vector<Event> events;
    std::uint64_t start_unix = 0;          // nanoseconds since 1970; 0: not started
    pipeline::PortPairMatrix crossings{};  // of the audits, by ports of the plan
    pipeline::PortPairMatrix answers{};    // copies found by the union rules, likewise
    Nanoseconds uptime = 0;
};

// Takes consistent copies of the workers' counters. From any thread, one at a time.
class StatsReader {
  public:
    static constexpr Nanoseconds kPatience = kSecond;

    explicit StatsReader(std::vector<dataplane::WorkerShared*> workers)
        : workers_(std::move(workers)), last_(workers_.size()) {}

    // By index of a filter at workers, then by worker; empty where no paths are measured.
    using PathTotals =
        std::array<std::vector<std::shared_ptr<const pipeline::PathTotals>>, kMaxFilters>;
    // Read these from now on. Workers write them meanwhile.
    void set_paths(PathTotals paths) {
        const std::lock_guard lock(mutex_);
        paths_ = std::move(paths);
    }

    // Return a report. Ports' device data, longest generations, stalls, events and times are left
    // to the caller. Workers are waited for at most `patience` together. One that does not answer
    // in time is reported with its last answer, and not waited for again until it has answered.
    StatsReport read(const Plan& plan, Nanoseconds patience = kPatience);

    // Read without waiting: request snapshots, unless another thread does. answered() returns the
    // totals in a later call, if all workers have answered by then.
    void request_snapshots();
    [[nodiscard]] std::optional<DispositionCounts> answered(const Plan& plan);

    // Request nothing and wait for nothing any more, also in a call of read() that has begun:
    // workers are about to return. Reports then use their last answers.
    void stop_asking() { asking_.store(false, std::memory_order_relaxed); }

    // Call when the workers have returned. leave_last() makes their final snapshots, while no
    // thread reads them; read() returns these from then on.
    template <typename LeaveLast>
    void close(LeaveLast&& leave_last) {
        stop_asking();
        const std::lock_guard lock(mutex_);
        leave_last();
        closed_ = true;
    }

  private:
    struct Snapshot {
        dataplane::Counters counters;
        std::array<filter::FilterCounters, kMaxFilters> filters{};
        std::array<filter::WindowState, kMaxFilters> windows{};
        std::array<filter::RepeatCounters, kMaxFilters> repeats{};
        std::array<std::uint64_t, kMaxFilters> fills{};
        std::array<filter::TapSummary, kMaxRoutes> taps{};
        std::array<pipeline::AuditTotals, kMaxFilters> audits{};
        pipeline::PortPairMatrix crossings{};
        pipeline::PortPairMatrix answers{};
        bool fresh = true;  // the worker answered the last request
    };
    void forgive();
    bool take(Nanoseconds deadline);
    void ask();
    [[nodiscard]] bool wait_for(const dataplane::WorkerShared& worker, Nanoseconds deadline) const;

    std::mutex mutex_;
    std::vector<dataplane::WorkerShared*> workers_;
    std::vector<Snapshot> last_;  // the last answer of each worker
    PathTotals paths_;
    std::atomic<bool> asking_{true};
    bool closed_ = false;
};

nlohmann::ordered_json to_json(const Plan& plan, const StatsReport& report);
// Return the meaning of each counter of to_json(), by member and name.
nlohmann::ordered_json help_json();
// Return each counter's kind, such as "packets counter" (only grows) or "nanoseconds gauge"; for
// reasons the disposition.
nlohmann::ordered_json kinds_json();
std::string to_text(const Plan& plan, const StatsReport& report);

}  // namespace unecho::appliance
