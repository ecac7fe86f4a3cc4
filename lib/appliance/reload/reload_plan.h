// SPDX-License-Identifier: BSD-3-Clause
// From the plan by which workers go and another configuration to the plan that follows: what is
// kept, warmed, replaced; or why it cannot be while packets flow, before anything changed.
// plan_reload() is a pure function; reload.h carries it out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "appliance/plan/machine.h"
#include "appliance/topology/topology.h"
#include "base/result.h"
#include "config/problem.h"
#include "config/schema.h"

namespace unecho::control {

struct ReloadPlan {
    ConfigDiff change;
    std::vector<std::string> lines;  // what differs, and what becomes of it; none: nothing does
    std::uint64_t bytes = 0;         // of filters, audits and taps that are allocated for it
    std::vector<std::string> route_names;  // by place, of all that there ever were
};

// Another configuration and the plan that a start would make of it. To make it is to ask files and
// the system's data base of groups, which may take as long as they like.
struct WantedConfig {
    config::Config config;
    std::optional<PlanResult> plan;  // none: it has other ports

    // facts: of the ports that the process has.
    static WantedConfig make(config::Config config, const Machine& machine,
                             const std::vector<eal::DeviceInfo>& facts);
};

// Of the ports of a plan, in its order.
std::vector<eal::DeviceInfo> facts_of(const Plan& plan);

struct ReloadInput {
    const config::Config* running = nullptr;
    const WantedConfig* wanted = nullptr;
    const WorkerConfigSet* present = nullptr;
    const std::vector<std::string>* route_names = nullptr;  // by place
    std::uint64_t now_unix = 0;
};

tl::expected<ReloadPlan, std::vector<config::Problem>> plan_reload(const ReloadInput& input);

}  // namespace unecho::control
