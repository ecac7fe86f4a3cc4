// SPDX-License-Identifier: BSD-3-Clause
// Reports for one worker: snapshots of its counters on request, its heartbeat, and the flows that
// its two taps see.
#pragma once

#include <array>
#include <cstdint>

#include <rte_ethdev.h>

#include "appliance/dataplane/burst.h"
#include "appliance/dataplane/counters.h"
#include "appliance/dataplane/filter_stage.h"
#include "appliance/dataplane/poll_profiler.h"
#include "appliance/dataplane/shared.h"
#include "appliance/dataplane/worker_parameters.h"
#include "base/ids.h"
#include "filters/tap_report.h"

namespace unecho::dataplane {

struct ReportSetup {
    WorkerShared* shared = nullptr;
    std::array<filter::TapReport*, kMaxRoutes>
        taps{};  // by route, of its two ports; null: not reported
    std::array<filter::SetOfTwo, RTE_MAX_ETHPORTS> tap_of{};  // by DPDK's port number
};

class Reporter {
  public:
    Reporter(const ReportSetup& setup, const WorkerParameters& common, Counters& counters,
             FilterStage& filters, PollProfiler& profiler) noexcept;

    void apply_config(const ReportSetup& setup) noexcept;

    // Return true if the flows of any route, or of this one, are reported.
    [[nodiscard]] bool reports_flows() const noexcept { return reported_ != 0; }
    [[nodiscard]] bool reports_flows(RouteIndex route) const noexcept {
        return setup_.taps[route] != nullptr;
    }

    // Report the flows of a burst, each on the tap that received its packet. The burst's digests
    // must be those of the flows.
    void add_flows(Burst& burst) noexcept;

    // End windows of flows by this worker's clock. Those of captures end by the packets' times.
    void end_windows() noexcept;

    // After a poll: publish the heartbeat, and a snapshot if one is requested.
    void answer() noexcept;

    void take_last_snapshot() noexcept;

  private:
    void take_snapshot(std::uint64_t wanted) noexcept;

    ReportSetup setup_;
    const WorkerParameters& common_;
    Counters& counters_;
    FilterStage& filters_;
    PollProfiler& profiler_;
    std::array<RouteIndex, kMaxRoutes> routes_{};
    unsigned reported_ = 0;
};

}  // namespace unecho::dataplane
