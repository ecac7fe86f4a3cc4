// SPDX-License-Identifier: BSD-3-Clause
// Watchdog checks for the control thread, while workers run, whether they poll, their stalls and
// the packets lost meanwhile, links, steps of the system's clock, lines of the shared flow store,
// and the service manager's watchdog. It writes what it finds to the log, and adds events.
//
// It never waits for a worker or a device, as generations would turn late. Only the control thread
// uses it, except report().
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "appliance/appliance.h"
#include "appliance/stats/events.h"
#include "appliance/stats/stats.h"
#include "appliance/timers/clock_step_detector.h"
#include "appliance/watchdog/hung_workers.h"
#include "appliance/watchdog/service_manager.h"
#include "appliance/watchdog/stall_log.h"
#include "appliance/watchdog/watchdog_policy.h"
#include "appliance/watchdog/worker_liveness.h"
#include "appliance/worker_threads.h"

namespace unecho::appliance {

class Watchdog {
  public:
    Watchdog(Appliance& appliance, const WorkerThreads& threads, StatsReader& reader,
             const EventWriter& events);

    [[nodiscard]] ServiceManager& manager() { return manager_; }

    // Begin to watch: before the workers run, and when all of them run.
    void begin(const Plan& plan, Nanoseconds now);
    void workers_run(Nanoseconds between_checks, Nanoseconds now);

    // Check everything but the workers, as far as it is due.
    void check(const Plan& plan, Nanoseconds between_link_checks, Nanoseconds now);
    // Check the workers. Return false if that is not due yet.
    bool check_workers(Nanoseconds between_checks, Nanoseconds now);
    // Return how long no packet has come, as of the last check of the workers.
    [[nodiscard]] Nanoseconds idle() const { return liveness_.idle(); }

    // Log what is left: before the workers are stopped, and after.
    void drained();
    void stopped(const Plan& plan, Nanoseconds now);

    // Fill in stalls and devices. From any thread.
    void report(StatsReport& out);

  private:
    void check_links();
    void log_shared_flows();
    void check_clocks();
    void sample_losses(const Plan& plan);
    void take_stalls(const Plan& plan, Nanoseconds now);
    [[nodiscard]] std::uint64_t take_losses(const Plan& plan, std::size_t worker,
                                            Nanoseconds begin);
    void check_liveness(Nanoseconds now);
    void report_status(Nanoseconds now);
    eal::DeviceCounters device_counters(std::size_t port);

    Appliance& appliance_;
    const WorkerThreads& threads_;
    StatsReader& reader_;
    const EventWriter& events_;
    ServiceManager manager_{ServiceManager::Environment::of_this_process()};
    WatchdogPolicy policy_{manager_.watchdog()};
    std::vector<bool> link_up_;
    WorkerLiveness liveness_;
    HungWorkers hung_;
    std::mutex devices_;  // held by whichever thread reads device counters
    StallLog stalls_;
    LossLog losses_;
    ClockStepDetector clock_steps_;
    bool status_requested_ = false;
    DispositionCounts reported_;  // totals of the last status line
    Nanoseconds reported_at_ = 0;
    Nanoseconds started_ = 0;
    Nanoseconds next_link_check_ = 0;
    Nanoseconds next_stalls_ = 0;
    Nanoseconds next_liveness_check_ = 0;
};

}  // namespace unecho::appliance
