// SPDX-License-Identifier: BSD-3-Clause
// From configuration, machine and devices to the plan: which lcore does what, with which memory.
// Plain data from a pure function. `unecho check` prints it; Appliance and Supervisor carry it out.
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
#include "dedup/engines/path_plan.h"
#include "dedup/engines/planning/plan.h"
#include "filters/sizing/tap_report.h"

namespace unecho::appliance {

struct PortPlan {
    std::string name;
    Device device;
    eal::DeviceInfo facts;
    eal::PortSetup setup;
    std::uint32_t group = 0;  // ports with the same number are one point of observation
    bool receives = false;    // some route's `from` names it
    bool transmits = false;   // some route's `to` names it, or echoes are diverted to it
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

// The report of the flows that two taps saw, on one worker.
struct TapPlan {
    Nanoseconds window = 0;
    std::uint64_t flows = 0;        // planned per window, for all workers together
    sizing::ShbfGeometry geometry;  // of each of its two arrays
    std::uint64_t instance_bytes = 0;

    bool operator==(const TapPlan&) const = default;
};

struct RoutePlan {
    std::vector<PortIndex> from;
    PortIndex to = 0;
    FilterIndex filter = 0;
    config::EchoAction on_echo = config::EchoAction::kDrop;
    PortIndex divert_to = 0;
    std::optional<TapPlan> taps = std::nullopt;  // A is from[0], B from[1]
    std::string name = {};
};

// The audit of a filter on one worker.
struct AuditPlan {
    std::uint64_t instance_bytes = 0;
    std::uint64_t entries = 0;  // keys remembered at a time
    unsigned bits = 0;          // initially 2^-bits of all keys are sampled
};

// The shared flow store of a filter: which flows its sites have seen.
struct SharedFlowsPlan {
    shared_flows::Layout layout;
    shared_flows::ClusterClientSpec asker;
    hash::Secret secret;    // gives all sites the same digests
    bool required = false;  // do not start without it
};

enum class SteeringMode { kSingle, kRss, kRing };

struct Plan {
    std::string name;                            // of the process
    std::optional<std::string> telemetry_group;  // may read telemetry
    std::vector<PortPlan> ports;
    std::vector<WorkerPlan> workers;
    std::vector<engines::FilterPlan> filters;
    std::vector<RoutePlan> routes;
    engines::AuditChoice audit;
    std::vector<AuditPlan> audits;                        // one per filter; empty without audits
    std::vector<std::optional<engines::PathPlan>> paths;  // likewise; absent: not measured
    std::vector<std::shared_ptr<const SharedFlowsPlan>> roots;  // one per filter; null: not shared
    filter::Isa isa = filter::Isa::kScalar;
    std::string isa_reason;
    LcoreId main_lcore = 0;  // of the control thread, in DPDK's numbering
    LcoreId main_cpu = 0;
    std::string lcore_map;  // DPDK's --lcores
    SteeringMode steering = SteeringMode::kSingle;
    std::string steering_reason;
    std::uint32_t mbufs = 0;
    std::uint16_t data_room = 0;
    Nanoseconds stall_threshold = 250 * kMicrosecond;  // longer polls are reported
    std::optional<std::string> state_dir;  // directory of filters that outlive the process
    std::vector<std::string> notes;        // worth knowing before the start
    // This host cannot do these; the plan may be for another one (Machine::is_other_host).
    std::vector<config::Problem> missing_here;
    // The indices at which workers keep routes and filters. They stay the same over reloads. Empty:
    // the order of this plan.
    std::vector<RouteIndex> route_places;
    std::vector<FilterIndex> filter_places;
    // When a reload created each route, filter and audit, in nanoseconds since 1970. Empty or 0: at
    // the start.
    std::vector<std::uint64_t> route_since;
    std::vector<std::uint64_t> filter_since;
    std::vector<std::uint64_t> audit_since;  // one per filter

    [[nodiscard]] RouteIndex route_place(std::size_t route) const {
        return route_places.empty() ? static_cast<RouteIndex>(route) : route_places[route];
    }
    [[nodiscard]] FilterIndex filter_place(std::size_t filter) const {
        return filter_places.empty() ? static_cast<FilterIndex>(filter) : filter_places[filter];
    }
    // Return the worker through whose tx queue this one transmits: queue q is worker q's.
    [[nodiscard]] WorkerIndex tx_owner(PortIndex port, WorkerIndex worker) const {
        return static_cast<WorkerIndex>(worker % ports[port].setup.tx_queues);
    }
};

using PlanResult = tl::expected<Plan, std::vector<config::Problem>>;

// facts: one per port, in order. eal::assumed_device_info() stands in for devices not probed.
PlanResult make_plan(const config::Config& config, const Machine& machine,
                     const std::vector<eal::DeviceInfo>& facts);

std::string to_text(const Plan& plan);

}  // namespace unecho::appliance
