// SPDX-License-Identifier: BSD-3-Clause
// The control thread, and the life of the process: it launches the workers, publishes the turns of
// generations, zeroes retired segments, carries out reloads, drains, and reports. It never touches
// a packet while workers run. WorkerThreads starts and stops threads; Watchdog looks after what may
// go wrong meanwhile.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "appliance/appliance.h"
#include "appliance/reload/reload.h"
#include "appliance/stats/events.h"
#include "appliance/stats/stats.h"
#include "appliance/timers/rotation_timers.h"
#include "appliance/watchdog/watchdog.h"
#include "appliance/worker_threads.h"
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
    void add_timers();
    void control(const std::atomic<bool>& stop);
    void step_reload();
    bool zero_segments();
    [[nodiscard]] bool finished(Nanoseconds time);
    [[nodiscard]] Nanoseconds until_due(Nanoseconds time) const;
    void drain();
    [[nodiscard]] Nanoseconds now() const;

    Appliance& appliance_;
    config::Config config_;  // changed by reloads
    Log log_;
    EventLog events_;
    EventWriter writer_{events_, log_};
    mutable std::mutex plan_mutex_;     // guards plan_: only the control thread writes it
    std::shared_ptr<const Plan> plan_;  // that workers use at present
    WorkerThreads threads_;
    StatsReader reader_;
    Watchdog watchdog_;
    RotationTimers turns_;
    std::unique_ptr<Reload> reload_;
    bool reloading_ = false;  // as last reported to the service manager
    std::atomic<std::uint64_t> started_unix_{0};
    std::atomic<std::uint64_t> epochs_{0};  // epochs of capture time that events mention already
    Nanoseconds started_ = 0;
    std::uint64_t early_turns_ = 0;
    Nanoseconds catch_up_until_ = 0;
};

}  // namespace unecho::appliance
