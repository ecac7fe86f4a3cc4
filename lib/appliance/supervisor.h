// SPDX-License-Identifier: BSD-3-Clause
// The control thread: launches the workers, turns generations, zeroes segments, watches links and
// stop conditions, drains, reports. It never touches a packet while workers run.
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

namespace unecho::control {

class Supervisor {
  public:
    // log takes one line at a time, for people.
    Supervisor(Appliance& appliance, const config::Config& config, Log log);

    // Until stop is set, the configured duration is over, or nothing came for stop_when_idle; then
    // drains and returns the final report. Errc::kIo if a worker could not be launched; those that
    // were have returned.
    Result<StatsReport> run(const std::atomic<bool>& stop);

    // Before run(): that it may be given another configuration while it runs.
    void reload_from(ReloadSource source);
    // From any thread while it runs; refused where nobody said from where.
    ReloadAnswer reload(bool dry_run);
    ReloadAnswer outcome_of_reload(std::uint64_t number);

    // By which workers go on; from any thread.
    [[nodiscard]] std::shared_ptr<const Plan> plan() const;

    // Live, from any thread.
    StatsReport report(Nanoseconds patience = StatsReader::kPatience);

  private:
    // As a thread of DPDK runs it.
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
    config::Config config_;  // by which it goes on
    Log log_;
    mutable std::mutex plan_mutex_;     // asked for reports, changed by the control thread alone
    std::shared_ptr<const Plan> plan_;  // by which workers go on
    StatsReader reader_;
    RotationTimers turns_;
    std::vector<bool> link_up_;
    ServiceManager manager_{ServiceManager::Environment::of_this_process()};
    WatchdogPolicy service_watch_{manager_.watchdog()};
    std::vector<WorkerThread> threads_;
    WorkerLiveness liveness_;
    HungWorkers hung_;
    bool status_asked_ = false;
    DispositionCounts told_;  // with the last status
    Nanoseconds told_at_ = 0;
    EventLog events_;
    std::unique_ptr<Reload> reload_;
    bool reloading_ = false;  // as the service manager has been told
    std::mutex devices_;      // asked by the control thread, and for reports
    StallLog stalls_;
    LossLog losses_;
    std::atomic<std::uint64_t> started_unix_{0};
    ClockStepDetector clock_watch_;
    std::atomic<std::uint64_t> epochs_{0};  // that events tell of
    std::size_t launched_ = 0;              // workers
    Nanoseconds started_ = 0;
    Nanoseconds next_link_check_ = 0;
    Nanoseconds next_stalls_ = 0;
    Nanoseconds next_attendance_ = 0;
    std::uint64_t early_turns_ = 0;
    Nanoseconds catch_up_until_ = 0;
};

}  // namespace unecho::control
