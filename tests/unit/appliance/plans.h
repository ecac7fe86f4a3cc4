// SPDX-License-Identifier: BSD-3-Clause
// Configurations, machines and devices for plans. All are invented: this machine has no influence.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "appliance/plan/plan.h"
#include "config/load.h"
#include "config/schema.h"

namespace unecho::appliance {

using Problems = std::vector<config::Problem>;
using Facts = std::vector<eal::DeviceInfo>;

// Two taps to a tool, and one filter of 50 ms at 1 Mpps.
inline config::Config taps_to_tool() {
    config::Config config;
    for (const char* name : {"tap-a", "tap-b", "tool"}) {
        config::Port port;
        port.name = name;
        port.device = "net_null" + std::to_string(config.ports.size());
        port.line = 10 * static_cast<int>(config.ports.size() + 1);
        config.ports.push_back(port);
    }
    config::Filter filter;
    filter.name = "echo";
    filter.window = 50 * kMillisecond;
    filter.rate = 1e6;
    filter.max_false_drop = 1e-6;
    filter.line = 50;
    config.filters.push_back(filter);
    config::Route route;
    route.from = {0, 1};
    route.to = 2;
    config.routes.push_back(route);
    return config;
}

inline Machine machine_with(std::vector<LcoreId> cpus) {
    Machine machine;
    machine.cpus = std::move(cpus);
    return machine;
}

inline eal::DeviceInfo device(std::string driver, std::uint16_t rx = 1, std::uint16_t tx = 1) {
    eal::DeviceInfo facts;
    facts.driver = std::move(driver);
    facts.max_rx_queues = rx;
    facts.max_tx_queues = tx;
    return facts;
}

inline eal::DeviceInfo nic(std::uint64_t rss_types = 0x3, std::uint16_t reta_size = 128,
                           std::uint16_t queues = 16) {
    eal::DeviceInfo facts = device("net_made_up", queues, queues);
    facts.probed = true;
    facts.rss_types = rss_types;
    facts.reta_size = reta_size;
    return facts;
}

inline Facts all_of(const config::Config& config, const eal::DeviceInfo& facts) {
    return Facts(config.ports.size(), facts);
}

inline Plan plan_of(const config::Config& config, const Machine& machine, const Facts& facts) {
    auto plan = make_plan(config, machine, facts);
    if (!plan) {
        ADD_FAILURE() << config::to_text(plan.error(), "plan");
        return {};
    }
    return std::move(*plan);
}

inline Problems problems_of(const config::Config& config, const Machine& machine,
                            const Facts& facts) {
    auto plan = make_plan(config, machine, facts);
    return plan ? Problems{} : plan.error();
}

// Return the message for a key; empty if there is none.
inline std::string message_for(const Problems& problems, std::string_view key) {
    const auto found =
        std::find_if(problems.begin(), problems.end(),
                     [&](const config::Problem& problem) { return problem.key == key; });
    return found == problems.end() ? "" : found->message;
}

}  // namespace unecho::appliance
