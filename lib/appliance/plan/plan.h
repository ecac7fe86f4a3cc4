// SPDX-License-Identifier: BSD-3-Clause
// Configuration + machine + devices -> who does what, with which memory. Plain data from a pure
// function; `unecho check` prints it, the supervisor (supervisor.h) carries it out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "appliance/eal/ports/port.h"
#include "appliance/plan/machine.h"
#include "appliance/shared_flows/shared_flows.h"
#include "base/ids.h"
#include "base/os/device.h"
#include "base/result.h"
#include "config/problem.h"
#include "config/schema.h"
#include "dedup/engines/audit_plan.h"
#include "dedup/engines/planning/plan.h"
#include "filters/sizing/tap_report.h"

namespace unecho::control {

struct PortPlan {
    std::string name;
    Device device;
    eal::DeviceInfo facts;
    eal::PortSetup setup;
    std::uint32_t group = 0;  // ports of one group are one place where packets are seen
    bool receives = false;    // stands in a route's from
    bool transmits = false;   // a route's to, or where echoes are diverted
};

struct RxAssignment {
    PortIndex port = 0;
    QueueId queue = 0;
    RouteIndex route = 0;
};

struct WorkerPlan {
    LcoreId lcore = 0;
    std::vector<RxAssignment> rx;
};

// The report of the flows of two taps, on one worker.
struct TapPlan {
    Nanoseconds window = 0;
    std::uint64_t flows = 0;           // planned for a window, all workers together
    sizing::ShbfGeometry geometry;     // of each of its two arrays
    std::uint64_t instance_bytes = 0;  // allocated

    bool operator==(const TapPlan&) const = default;
};

struct RoutePlan {
    std::vector<PortIndex> from;
    PortIndex to = 0;
    FilterIndex filter = 0;
    config::EchoAction on_echo = config::EchoAction::kDrop;
    PortIndex divert_to = 0;
    std::optional<TapPlan> taps = std::nullopt;  // A is from[0], B from[1]
    std::string name = {};                       // as people know it
};

// The audit of a filter on one worker.
struct AuditPlan {
    std::uint64_t instance_bytes = 0;  // allocated
    std::uint64_t entries = 0;         // keys that are remembered at a time
    unsigned bits = 0;                 // 2^-bits of all keys are sampled, to begin with
};

// What a filter's sites share of the flows they have seen.
struct SharedFlowsPlan {
    root::Layout layout;
    root::ClusterClientSpec asker;
    hash::Secret secret;    // by which all sites have the same digests
    bool required = false;  // no start without it
};

enum class SteeringMode { kSingle, kRss, kRing };

struct Plan {
    std::string name;                            // of the process
    std::optional<std::string> telemetry_group;  // that may read telemetry
    std::vector<PortPlan> ports;
    std::vector<WorkerPlan> workers;
    std::vector<engines::FilterPlan> filters;
    std::vector<RoutePlan> routes;
    engines::AuditChoice audit;
    std::vector<AuditPlan> audits;  // of each filter; empty if they are not audited
    std::vector<std::shared_ptr<const SharedFlowsPlan>> roots;  // of each filter; null: it has none
    filter::Isa isa = filter::Isa::kScalar;                     // of the kernels
    std::string isa_reason;                                     // why this one
    LcoreId main_lcore = 0;  // the control thread's, by DPDK's number
    LcoreId main_cpu = 0;
    std::string lcore_map;  // DPDK's --lcores
    SteeringMode steering = SteeringMode::kSingle;
    std::string steering_reason;
    std::uint32_t mbufs = 0;
    std::uint16_t data_room = 0;
    Nanoseconds stall_threshold = 250 * kMicrosecond;  // a longer poll is told
    std::optional<std::string> state_dir;              // where filters outlive the process
    std::vector<std::string> notes;                    // worth knowing before it runs
    // Where workers keep routes and filters, which go on there over reloads; empty: in this order.
    std::vector<RouteIndex> route_places;
    std::vector<FilterIndex> filter_places;
    // What is new since the start, by route and filter: since when, nanoseconds since 1970. Empty
    // or 0: since the start.
    std::vector<std::uint64_t> route_since;
    std::vector<std::uint64_t> filter_since;
    std::vector<std::uint64_t> audit_since;  // by filter

    [[nodiscard]] RouteIndex route_place(std::size_t route) const {
        return route_places.empty() ? static_cast<RouteIndex>(route) : route_places[route];
    }
    [[nodiscard]] FilterIndex filter_place(std::size_t filter) const {
        return filter_places.empty() ? static_cast<FilterIndex>(filter) : filter_places[filter];
    }
    // The worker that owns tx queue q of a port is worker q; worker w sends through this one.
    [[nodiscard]] WorkerIndex tx_owner(PortIndex port, WorkerIndex worker) const {
        return static_cast<WorkerIndex>(worker % ports[port].setup.tx_queues);
    }
};

using PlanResult = tl::expected<Plan, std::vector<config::Problem>>;

// facts: one for each port, in order; see eal::assumed_device_info() for those not probed.
PlanResult make_plan(const config::Config& config, const Machine& machine,
                     const std::vector<eal::DeviceInfo>& facts);

// The whole plan for people.
std::string to_text(const Plan& plan);

}  // namespace unecho::control
