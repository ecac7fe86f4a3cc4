// SPDX-License-Identifier: BSD-3-Clause
// Live answers through DPDK's telemetry socket: /unecho/..., see dpdk-telemetry.py. Those that
// change nothing are answered on the monitoring socket, too (monitor_server.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "appliance/plan/plan.h"
#include "appliance/reload/reload.h"
#include "appliance/stats/stats.h"
#include "base/result.h"

namespace unecho::control {

// Empty where they are not offered.
struct ReloadCommands {
    std::function<ReloadAnswer(bool dry_run)> ask;
    std::function<ReloadAnswer(std::uint64_t number)> outcome;
};

// The commands answer while it lives; one in a process. plan must outlive it; report and reload are
// called on telemetry threads, and are no longer when it is gone.
class Telemetry {
  public:
    // Errc::kNoMemory if a command could not be registered; none answers then.
    static Result<Telemetry> attach(const Plan& plan, std::function<StatsReport()> report,
                                    ReloadCommands reload = {});
    ~Telemetry();
    Telemetry(Telemetry&& other) noexcept;
    Telemetry(const Telemetry&) = delete;
    Telemetry& operator=(const Telemetry&) = delete;
    Telemetry& operator=(Telemetry&&) = delete;

  private:
    explicit Telemetry(bool owner) : owner_(owner) {}
    bool owner_;
};

// Returns the JSON that answers a command of these that changes nothing, as {"/unecho/info":
// {...}}; null is the answer to every other one. Any thread; throws where memory is short.
std::string answer_read_command(std::string_view asked);

}  // namespace unecho::control
