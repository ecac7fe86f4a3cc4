// SPDX-License-Identifier: BSD-3-Clause
// What a running appliance did, from the workers' snapshots: as data, JSON and a table.
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
#include "appliance/stats/events.h"
#include "appliance/watchdog/stall_log.h"

namespace unecho::control {

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

// The flows of two taps, all workers.
struct TapTotals {
    bool ended = false;       // there is a last window
    filter::TapWindow last;   // that ended on a worker at least
    filter::TapCounts total;  // of all windows, the present one included
};

struct RouteReport {
    DispositionCounts counts;
    std::array<pipeline::PacketBytes, pipeline::kReasons> reasons{};
    TapTotals taps;  // if the plan's route has them
};

// With what the device lost.
struct PortReport : eal::DeviceCounters {
    pipeline::PacketBytes rx;
    pipeline::PacketBytes tx;
    bool link_up = false;
};

struct WorkerReport : dataplane::WorkerCounters {
    bool answering = true;  // else these are its last answer
    pipeline::PacketBytes rx;
    std::uint64_t settled = 0;  // packets that found their reason here
    dataplane::PollTimes poll_times;
    std::vector<StallRecord> stall_log;  // the newest
};

// What a filter was planned for, and what it is like.
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

// The root that sites share, of one filter.
struct SharedFlowsReport {
    dataplane::SharedFlowsCounters asks;  // all workers
    root::Counters answers;
};

// longest_generation: as published by the rotation timer.
struct FilterReport : FilterLoad {
    filter::FilterCounters counters;  // all workers
    filter::RepeatCounters repeats;   // likewise; where they are kept
    packet::TunnelCounters tunnels;   // the same; where none is looked into: 0
    filter::WindowState window;       // the least of all workers; turns of all together
    pipeline::AuditTotals audit;      // of all workers; the smallest share of any
    SharedFlowsReport root;           // if the plan has one for it
};

// Steps back in captures' time that began an epoch (base/packet_clock.h), by packets' own clock.
struct EpochReport {
    std::uint64_t count = 0;
    dataplane::Counters::Epoch first;
};

struct StatsReport {
    std::shared_ptr<const Plan> plan;  // by which it was made, where plans may follow each other
    EpochReport epochs;
    DispositionCounts totals;
    std::array<pipeline::PacketBytes, pipeline::kReasons> reasons{};
    std::vector<PortReport> ports;
    std::vector<RouteReport> routes;
    RouteReport gone;  // of all routes that a reload took away
    std::vector<WorkerReport> workers;
    std::vector<FilterReport> filters;
    std::vector<Event> events;
    std::uint64_t start_unix = 0;          // nanoseconds since 1970; 0: not started
    pipeline::PortPairMatrix crossings{};  // of the audits, by the plan's ports
    pipeline::PortPairMatrix answers{};    // copies that the union rules found, likewise
    Nanoseconds uptime = 0;
};

// Takes consistent copies of the workers' counters. Any thread; one at a time by its lock.
class StatsReader {
  public:
    static constexpr Nanoseconds kPatience = kSecond;

    explicit StatsReader(std::vector<dataplane::WorkerShared*> workers)
        : workers_(std::move(workers)), last_(workers_.size()) {}

    // ports, longest generations, stalls, events and times are left to the caller. A worker that
    // does not answer within patience is reported as it answered last, and not waited for again
    // until it has.
    StatsReport read(const Plan& plan, Nanoseconds patience = kPatience);

    // For a look that waits for nobody: the workers are asked, unless somebody else is at it, and
    // have answered, or not, by a later call.
    void request_snapshots();
    [[nodiscard]] std::optional<DispositionCounts> answered(const Plan& plan);

    // The workers are about to return: from now on nobody is asked or waited for, also by a look
    // that has begun. What they answered last is reported.
    void stop_asking() { asking_.store(false, std::memory_order_relaxed); }

    // The workers have returned. leave_last() leaves their final snapshots, while nobody reads;
    // from then on read() gives these.
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
        bool fresh = true;  // answered when it was last asked
    };
    void forgive();
    bool take(Nanoseconds patience);
    void ask();
    [[nodiscard]] bool wait_for(const dataplane::WorkerShared& worker, Nanoseconds deadline) const;

    std::mutex mutex_;
    std::vector<dataplane::WorkerShared*> workers_;
    std::vector<Snapshot> last_;  // as answered
    std::atomic<bool> asking_{true};
    bool closed_ = false;
};

nlohmann::ordered_json to_json(const Plan& plan, const StatsReport& report);
// What each counter in it means, by its member and its name.
nlohmann::ordered_json help_json();
// What kind of counter each of them is: its unit, and whether it only grows: "packets counter",
// "nanoseconds gauge"; of reasons the fate.
nlohmann::ordered_json kinds_json();
std::string to_text(const Plan& plan, const StatsReport& report);

}  // namespace unecho::control
