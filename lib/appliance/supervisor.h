// SPDX-License-Identifier: BSD-3-Clause
// The control thread. It launches the workers, publishes the turns of generations, zeroes retired
// segments, watches links and stop conditions, carries out reloads, drains, and reports. It never
// touches a packet while workers run.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "appliance/appliance.h"
#include "appliance/reload/reload.h"
#include "appliance/stats/events.h"
#include "appliance/stats/stats.h"
#include "appliance/timers/clock_step_detector.h"
#include "appliance/timers/rotation_timers.h"
#include "appliance/watchdog/hung_workers.h"
#include "appliance/watchdog/service_manager.h"
#include "appliance/watchdog/stall_log.h"
#include "appliance/watchdog/watchdog_policy.h"
#include "appliance/watchdog/worker_liveness.h"
#include "base/os/log.h"
#include "base/result.h"
#include "config/schema.h"

namespace unecho::appliance {

class Supervisor {
  public:
    // log takes one line at a time, for people.
    Supervisor(Appliance& appliance, const config::Config& config, Log log);

    // Run until stop is set, the configured duration is over, or no packet came for stop_when_idle.
    // Then drain and return the final report. Errc::kIo if a worker could not be launched; those
    // that were launched have returned by then.
    Result<StatsReport> run(const std::atomic<bool>& stop);

    // Allow reloads from this source. Call before run().
    void reload_from(ReloadSource source);
    // Request a reload, from any thread while run() runs. Refused without a source.
    ReloadAnswer reload(bool dry_run);
    ReloadAnswer outcome_of_reload(std::uint64_t number);

    // Return the present plan of the workers, from any thread.
    [[nodiscard]] std::shared_ptr<const Plan> plan() const;

    // Return a live report, from any thread. patience bounds the wait for workers.
    StatsReport report(Nanoseconds patience = StatsReader::kPatience);

  private:
    // A worker as a thread of DPDK.
    struct WorkerThread {
        dataplane::Worker* worker = nullptr;
        std::atomic<pid_t> id{0};

        static int run(void* self);
    };

    Status launch();
    void add_timers();
    void watch(const std::atomic<bool>& stop);
    void turn_generations();
    void step_reload();
    bool zero_segments();
    [[nodiscard]] Nanoseconds now() const;
    [[nodiscard]] bool finished(Nanoseconds time);
    void log_event(std::string_view kind, const std::string& line,
                   Severity severity = Severity::kNotice);
    void check_links();
    void log_shared_flows();
    void check_clocks();
    void sample_losses();
    void take_stalls(Nanoseconds time);
    [[nodiscard]] std::uint64_t take_losses(std::size_t worker, Nanoseconds begin);
    eal::DeviceCounters device_counters(std::size_t port);
    bool check_workers(Nanoseconds time);
    void check_liveness(Nanoseconds time);
    void tell_status(Nanoseconds time);
    void warn(const Status& status, std::string_view event);
    [[nodiscard]] Nanoseconds until_due(Nanoseconds time) const;
    void drain();
    void stop_workers();
    void wait_for(std::size_t worker);
    [[nodiscard]] std::string name_of(std::size_t worker) const;
    void set_phase(dataplane::Phase phase);

    Appliance& appliance_;
    config::Config config_;  // changed by reloads
    Log log_;
    mutable std::mutex plan_mutex_;     // guards plan_: only the control thread writes it
    std::shared_ptr<const Plan> plan_;  // that workers use at present
    StatsReader reader_;
    RotationTimers turns_;
    std::vector<bool> link_up_;
    ServiceManager manager_{ServiceManager::Environment::of_this_process()};
    WatchdogPolicy service_watch_{manager_.watchdog()};
    std::vector<WorkerThread> threads_;
    WorkerLiveness liveness_;
    HungWorkers hung_;
    bool status_asked_ = false;
    DispositionCounts reported_;  // totals of the last status line
    Nanoseconds reported_at_ = 0;
    EventLog events_;
    std::unique_ptr<Reload> reload_;
    bool reloading_ = false;  // as last reported to the service manager
    std::mutex devices_;      // held by whichever thread reads device counters
    StallLog stalls_;
    LossLog losses_;
    std::atomic<std::uint64_t> started_unix_{0};
    ClockStepDetector clock_watch_;
    std::atomic<std::uint64_t> epochs_{0};  // epochs of capture time that events mention already
    std::size_t launched_ = 0;              // number of workers
    Nanoseconds started_ = 0;
    Nanoseconds next_link_check_ = 0;
    Nanoseconds next_stalls_ = 0;
    Nanoseconds next_liveness_check_ = 0;
    std::uint64_t early_turns_ = 0;
    Nanoseconds catch_up_until_ = 0;
};

}  // namespace unecho::appliance
