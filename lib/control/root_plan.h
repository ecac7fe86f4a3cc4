// SPDX-License-Identifier: BSD-3-Clause
// From [filter.root] to what the root works with.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/schema.h"
#include "control/plan.h"

namespace unecho::control {

// A key of [filter.root], ".redis", or none, and what is wrong with it.
struct RootProblem {
    std::string key;
    std::string what;
};

// Null with a problem. Files that are not there are noted where the configuration may be for
// another machine.
std::shared_ptr<const RootPlan> plan_root(const config::Filter& filter, bool may_differ,
                                          std::vector<std::string>& notes, RootProblem& problem);

}  // namespace unecho::control
