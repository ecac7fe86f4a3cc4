// SPDX-License-Identifier: BSD-3-Clause
// From [filter.root] to what the root works with.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "appliance/plan/plan.h"
#include "config/schema.h"

namespace unecho::control {

// A key of [filter.root], ".redis", or none, and what is wrong with it.
struct SharedFlowsProblem {
    std::string key;
    std::string what;
};

// Null with a problem. Files that are not there are noted where the configuration may be for
// another machine.
std::shared_ptr<const SharedFlowsPlan> plan_shared_flows(const config::Filter& filter,
                                                         bool is_other_host,
                                                         std::vector<std::string>& notes,
                                                         SharedFlowsProblem& problem);

}  // namespace unecho::control
