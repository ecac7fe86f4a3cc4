// SPDX-License-Identifier: BSD-3-Clause
// From the present plan and another configuration to the plan of a reload: what is kept, warmed or
// replaced, or why it needs a restart, before anything changes. plan_reload() is a pure function;
// reload.h carries the result out.
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

namespace unecho::appliance {

struct ReloadPlan {
    ConfigDiff change;
    std::vector<std::string> lines;        // what differs, and the consequences; empty: nothing
    std::uint64_t bytes = 0;               // of filters, audits and tap reports to allocate
    std::vector<std::string> route_names;  // by index at workers, of all routes so far
};

// Another configuration, and the plan that a start would make of it. Making it reads files and the
// system's group database, which may take arbitrarily long.
struct WantedConfig {
    config::Config config;
    std::optional<PlanResult> plan;  // absent if the number of ports differs

    // facts: of the ports that the process has opened.
    static WantedConfig make(config::Config config, const Machine& machine,
                             const std::vector<eal::DeviceInfo>& facts);
};

// Return the facts of a plan's ports, in its order.
std::vector<eal::DeviceInfo> facts_of(const Plan& plan);

struct ReloadInput {
    const config::Config* running = nullptr;
    const WantedConfig* wanted = nullptr;
    const WorkerConfigSet* present = nullptr;
    const std::vector<std::string>* route_names = nullptr;  // by index at workers
    std::uint64_t now_unix = 0;
};

tl::expected<ReloadPlan, std::vector<config::Problem>> plan_reload(const ReloadInput& input);

}  // namespace unecho::appliance
