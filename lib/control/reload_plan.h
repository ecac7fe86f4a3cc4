// SPDX-License-Identifier: BSD-3-Clause
// From the plan by which workers go and another configuration to the plan that follows: what is
// kept, warmed, replaced; or why it cannot be while packets flow, before anything changed. A pure
// function; reload.h carries it out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/problem.h"
#include "config/schema.h"
#include "control/machine.h"
#include "control/wiring.h"

namespace unecho::control {

struct ReloadPlan {
    SetupChange change;
    std::vector<std::string> lines;  // what differs, and what becomes of it; none: nothing does
    std::uint64_t bytes = 0;         // of filters, audits and taps that are allocated for it
    std::vector<std::string> route_names;  // by place, of all that there ever were
};

struct ReloadInput {
    const config::Config* running = nullptr;
    const config::Config* wanted = nullptr;
    const WiringSetup* present = nullptr;
    const std::vector<std::string>* route_names = nullptr;  // by place
    const Machine* machine = nullptr;
    std::uint64_t now_unix = 0;
};

tl::expected<ReloadPlan, std::vector<config::Problem>> plan_reload(const ReloadInput& input);

}  // namespace unecho::control
