// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/supervisor.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <sys/prctl.h>

#include "appliance/timers/sleep_backoff.h"
#include "appliance/watchdog/cpu_budget.h"
#include "appliance/watchdog/realtime_priority.h"
#include "base/os/clock.h"

namespace unecho::appliance {
namespace {

// How often stop flags and workers are checked.
constexpr Nanoseconds kTick = 5 * kMillisecond;
constexpr Nanoseconds kLivenessTick = 20 * kMillisecond;
constexpr Nanoseconds kDrainTick = kMillisecond;
constexpr Nanoseconds kReloadTick = 500 * kMicrosecond;

// While generations end early, and for kCatchUp afterwards, check this often for retired segments.
constexpr Nanoseconds kCatchUpTick = 50 * kMicrosecond;
constexpr Nanoseconds kCatchUp = 10 * kMillisecond;

std::vector<dataplane::WorkerShared*> shared_of(Appliance& appliance) {
    std::vector<dataplane::WorkerShared*> out;
    for (std::size_t i = 0; i < appliance.plan().workers.size(); ++i) {
        out.push_back(&appliance.shared(i));
    }
    return out;
}

// Poll often enough to detect an idle time of stop_when_idle.
Nanoseconds poll_interval(const config::Config& config) {
    return std::min(kLivenessTick, config.run.stop_when_idle.value_or(kLivenessTick));
}

}  // namespace

Supervisor::Supervisor(Appliance& appliance, const config::Config& config, Log log)
    : appliance_(appliance),
      config_(config),
      log_(std::move(log)),
      plan_(appliance.topology().present().plan),
      threads_(appliance, log_),
      reader_(shared_of(appliance)),
      watchdog_(appliance, threads_, reader_, writer_) {
    reader_.set_paths(appliance_.topology().path_totals());
}

std::shared_ptr<const Plan> Supervisor::plan() const {
    const std::lock_guard lock(plan_mutex_);
    return plan_;
}

Nanoseconds Supervisor::now() const {
    return appliance_.clock().now();
}

// Start a timer for each filter that has generations. With clock = "capture" filters advance by the
// packets' timestamps instead.
void Supervisor::add_timers() {
    turns_.follow(appliance_.topology().present(), config_.run.clock == config::Clock::kTsc, now());
}

void Supervisor::reload_from(ReloadSource source) {
    reload_ = std::make_unique<Reload>(
        appliance_.topology(), appliance_.machine(), config_, std::move(source),
        [this](const std::string& line) { writer_.add(event::kReload, line); });
}

ReloadAnswer Supervisor::reload(bool dry_run) {
    return reload_ == nullptr ? ReloadAnswer{false, "it cannot read its configuration again\n"}
                              : reload_->ask(dry_run);
}

ReloadAnswer Supervisor::outcome_of_reload(std::uint64_t number) {
    return reload_ == nullptr ? ReloadAnswer{false, "it cannot read its configuration again\n"}
                              : reload_->outcome(number);
}

// Advance a reload. From here on, all that reads config_ or plan_ uses the new configuration.
void Supervisor::step_reload() {
    if (reload_ == nullptr) {
        return;
    }
    const bool live = config_.run.clock == config::Clock::kTsc;
    if (std::optional<Reload::Next> next = reload_->step(now(), turns_, live)) {
        writer_.warn(watchdog_.manager().reloading(), event::kService);
        reloading_ = true;
        config_ = std::move(next->config);
        reader_.set_paths(appliance_.topology().path_totals());
        const std::lock_guard lock(plan_mutex_);
        plan_ = std::move(next->plan);
    } else if (reloading_ && !reload_->busy()) {
        writer_.warn(watchdog_.manager().reloaded(), event::kService);
        reloading_ = false;
    }
}

bool Supervisor::zero_segments() {
    const bool busy = turns_.zero();
    if (const std::uint64_t early = turns_.early_turns(); early != early_turns_) {
        early_turns_ = early;
        catch_up_until_ = now() + kCatchUp;
    }
    return busy;
}

void Supervisor::control(const std::atomic<bool>& stop) {
    CpuBudget budget;
    while (!stop.load(std::memory_order_relaxed)) {
        const Nanoseconds woken = now();
        if (WarmRestartStore* const state = appliance_.state()) {
            state->note_alive(woken);
        }
        turns_.tick([&] { return now(); });
        step_reload();
        const bool busy = zero_segments();
        const Nanoseconds time = now();
        watchdog_.check(*plan_, config_.control.link_check, time);
        if (finished(time)) {
            return;
        }
        budget.worked(now() - woken);
        const Nanoseconds pause = budget.rest_due() ? CpuBudget::kRest : busy ? 0 : until_due(time);
        if (pause > 0) {
            sleep_for(pause);
            budget.slept(pause);
        }
    }
}

Result<StatsReport> Supervisor::run(const std::atomic<bool>& stop) {
    // The default timer slack of 50 us would be added to every generation.
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    const RealtimePriority prompt;
    if (!prompt.status()) {
        log_({Severity::kWarning, "priority",
              prompt.status().error().context +
                  "; beside other threads, generations may turn late"});
    }
    writer_.warn(ThreadTrace::prepare(), event::kWorker);
    started_ = now();
    started_unix_.store(unix_now(), std::memory_order_relaxed);
    watchdog_.begin(*plan_, started_);
    add_timers();
    if (const Status status = threads_.launch(); !status) {
        reader_.stop_asking();
        return tl::unexpected(status.error());
    }
    watchdog_.workers_run(poll_interval(config_), now());
    writer_.warn(watchdog_.manager().ready(), event::kService);
    events_.add(event::kStart, fmt::format("started as \"{}\" with {} worker(s)",
                                           appliance_.plan().name, threads_.running()));
    control(stop);
    writer_.warn(watchdog_.manager().stopping(), event::kService);
    if (reload_ != nullptr) {
        reload_->stop();
    }
    drain();
    watchdog_.drained();
    reader_.stop_asking();
    threads_.stop();
    watchdog_.stopped(*plan_, now());
    reader_.close([&] {
        for (std::size_t i = 0; i < threads_.size(); ++i) {
            appliance_.worker(i).settle_leftovers();
        }
    });
    return report();
}

bool Supervisor::finished(Nanoseconds time) {
    if (config_.run.duration && time - started_ >= *config_.run.duration) {
        return true;
    }
    return watchdog_.check_workers(poll_interval(config_), time) && config_.run.stop_when_idle &&
           watchdog_.idle() >= *config_.run.stop_when_idle;
}

Nanoseconds Supervisor::until_due(Nanoseconds time) const {
    const bool reloads = reload_ != nullptr && reload_->busy();
    Nanoseconds due = time + (time < catch_up_until_ ? kCatchUpTick
                              : reloads              ? kReloadTick
                                                     : kTick);
    due = std::min(due, turns_.due());
    return due > time ? due - time : 0;
}

// Stop receiving, and let packets between workers reach their destination, for at most
// drain_timeout. Drained means: in two consecutive reports nothing handed over is missing, and no
// burst came between.
void Supervisor::drain() {
    threads_.set_phase(dataplane::Phase::kDraining);
    const Nanoseconds deadline = now() + config_.control.drain_timeout;
    std::uint64_t last_bursts = ~std::uint64_t{0};
    std::string silent;
    while (now() < deadline) {
        const Nanoseconds left = deadline - std::min(deadline, now());
        const StatsReport report = reader_.read(*plan(), std::min(left, StatsReader::kPatience));
        dataplane::WorkerCounters all;
        silent.clear();
        for (std::size_t i = 0; i < report.workers.size(); ++i) {
            const WorkerReport& worker = report.workers[i];
            fold<dataplane::WorkerCounters>(dataplane::kWorkerCounters, worker, all);
            if (!worker.answering) {
                silent = threads_.name_of(i) + " does not answer; ";
            }
        }
        if (all.handed_out == all.handed_in && all.bursts == last_bursts && silent.empty()) {
            return;
        }
        last_bursts = all.bursts;
        watchdog_.check_workers(poll_interval(config_), now());
        sleep_for(kDrainTick);
    }
    log_({Severity::kWarning, event::kWorker,
          fmt::format(
              "{}packets may still be between workers after {}; they are counted as \"stopped\"",
              silent, format_duration(config_.control.drain_timeout))});
}

StatsReport Supervisor::report(Nanoseconds patience) {
    const std::shared_ptr<const Plan> plan = this->plan();
    StatsReport report = reader_.read(*plan, patience);
    report.plan = plan;
    if (const std::uint64_t known = epochs_.exchange(report.epochs.count);
        report.epochs.count > known) {
        events_.add(event::kTime, fmt::format("the time of captures stepped back {} time(s)",
                                              format_count(report.epochs.count - known)));
    }
    report.uptime = now() - started_;
    report.start_unix = started_unix_.load(std::memory_order_relaxed);
    report.events = events_.all();
    watchdog_.report(report);
    for (std::size_t f = 0; f < report.filters.size(); ++f) {
        report.filters[f].longest_generation = turns_.longest(plan->filter_place(f));
        if (const shared_flows::SharedFlows* const root = appliance_.root(plan->filters[f].name)) {
            report.filters[f].root.answers = root->counters();
        }
    }
    return report;
}

}  // namespace unecho::appliance
