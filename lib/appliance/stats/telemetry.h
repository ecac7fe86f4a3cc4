// SPDX-License-Identifier: BSD-3-Clause
// Replies on DPDK's telemetry socket: commands /unecho/..., see dpdk-telemetry.py. The read-only
// ones are also answered on the monitoring socket (monitor_server.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "appliance/plan/plan.h"
#include "appliance/reload/reload.h"
#include "appliance/stats/stats.h"
#include "base/result.h"

namespace unecho::appliance {

// Empty functions: reloads are not offered.
struct ReloadCommands {
    std::function<ReloadAnswer(bool dry_run)> ask;
    std::function<ReloadAnswer(std::uint64_t number)> outcome;
};

// Answers the commands while it exists; one per process. plan must outlive it. report and reload
// are called on telemetry threads, never after its end.
class Telemetry {
  public:
    // Errc::kNoMemory if a command could not be registered; then none is answered.
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

// Return the JSON reply to a read-only command, such as {"/unecho/info": {...}}; the reply to any
// other command is null. From any thread; throws if memory is short.
std::string answer_read_command(std::string_view asked);

}  // namespace unecho::appliance
