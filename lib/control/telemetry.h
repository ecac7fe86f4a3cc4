// SPDX-License-Identifier: BSD-3-Clause
// Live answers through DPDK's telemetry socket: /unecho/..., see dpdk-telemetry.py.
#pragma once

#include <functional>

#include "base/result.h"
#include "control/plan.h"
#include "control/stats.h"

namespace unecho::control {

// Registers the commands for the life of the object; one in a process. plan and report must outlive
// it; report is called on the telemetry thread.
class Telemetry {
  public:
    static Status register_commands(const Plan& plan, std::function<Report()> report);
    // From now on the commands answer nothing.
    static void detach();
};

}  // namespace unecho::control
