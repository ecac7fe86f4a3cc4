// SPDX-License-Identifier: BSD-3-Clause
// Live answers through DPDK's telemetry socket: /unecho/..., see dpdk-telemetry.py.
#pragma once

#include <functional>

#include "base/result.h"
#include "control/plan.h"
#include "control/reload.h"
#include "control/stats.h"

namespace unecho::control {

// The commands answer while it lives; one in a process. plan must outlive it; report and reload are
// called on telemetry threads, and are no longer when it is gone.
class Telemetry {
  public:
    // Errc::kNoMemory if a command could not be registered; none answers then.
    // reload, true for a dry run: none where it is not offered.
    static Result<Telemetry> attach(const Plan& plan, std::function<StatsReport()> report,
                                    std::function<ReloadAnswer(bool)> reload = nullptr);
    ~Telemetry();
    Telemetry(Telemetry&& other) noexcept;
    Telemetry(const Telemetry&) = delete;
    Telemetry& operator=(const Telemetry&) = delete;
    Telemetry& operator=(Telemetry&&) = delete;

  private:
    explicit Telemetry(bool owner) : owner_(owner) {}
    bool owner_;
};

}  // namespace unecho::control
