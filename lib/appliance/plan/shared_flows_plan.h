// SPDX-License-Identifier: BSD-3-Clause
// From [filter.root] of the configuration to the plan of a shared flow store.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "appliance/plan/plan.h"
#include "config/schema.h"

namespace unecho::appliance {

// key: a key of [filter.root] such as ".redis", or empty.
struct SharedFlowsProblem {
    std::string key;
    std::string what;
};

// Return null and set problem if it cannot be planned. If the configuration may be for another
// machine, missing files are listed in `missing` instead.
std::shared_ptr<const SharedFlowsPlan> plan_shared_flows(const config::Filter& filter,
                                                         bool is_other_host,
                                                         std::vector<std::string>& missing,
                                                         SharedFlowsProblem& problem);

}  // namespace unecho::appliance
