// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/supervisor.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include <rte_ethdev.h>
#include <rte_launch.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "appliance/timers/sleep_backoff.h"
#include "appliance/watchdog/cpu_budget.h"
#include "appliance/watchdog/realtime_priority.h"

namespace unecho::appliance {
namespace {

// How often stop flags and workers are checked.
constexpr Nanoseconds kTick = 5 * kMillisecond;
constexpr Nanoseconds kLivenessTick = 20 * kMillisecond;
// Short enough that many stalls cannot fill the queue from a worker in this time.
constexpr Nanoseconds kStallTick = 15 * kMillisecond;
constexpr Nanoseconds kDrainTick = kMillisecond;
constexpr Nanoseconds kWaking = 50 * kMillisecond;  // longer than an lcore takes to wake up

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

std::string name_of_worker(const Plan& plan, std::size_t worker) {
    return "worker " + std::to_string(worker) + " on lcore " +
           std::to_string(plan.workers[worker].lcore);
}

std::vector<std::string> names_of_workers(const Plan& plan) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < plan.workers.size(); ++i) {
        out.push_back(name_of_worker(plan, i));
    }
    return out;
}

// Poll often enough to detect an idle time of stop_when_idle.
Nanoseconds poll_interval(const config::Config& config) {
    return std::min(kLivenessTick, config.run.stop_when_idle.value_or(kLivenessTick));
}

// Format the rate as "1.2Mpps".
std::string rate_of(std::uint64_t packets, Nanoseconds time) {
    return format_rate(static_cast<double>(packets) * 1e9 / static_cast<double>(time));
}

}  // namespace

int Supervisor::WorkerThread::run(void* self) {
    auto& thread = *static_cast<WorkerThread*>(self);
    thread.id.store(gettid(), std::memory_order_relaxed);
    thread.worker->run();
    return 0;
}

Supervisor::Supervisor(Appliance& appliance, const config::Config& config, Log log)
    : appliance_(appliance),
      config_(config),
      log_(std::move(log)),
      plan_(appliance.topology().present().plan),
      reader_(shared_of(appliance)),
      link_up_(appliance.ports().size(), true),
      threads_(appliance.plan().workers.size()),
      liveness_(appliance.plan().workers.size(), poll_interval(config_), now()),
      hung_(names_of_workers(appliance.plan())),
      stalls_(names_of_workers(appliance.plan())),
      losses_(appliance.ports().size()) {}

std::shared_ptr<const Plan> Supervisor::plan() const {
    const std::lock_guard lock(plan_mutex_);
    return plan_;
}

Nanoseconds Supervisor::now() const {
    return appliance_.clock().now();
}

Status Supervisor::launch() {
    const Plan& plan = appliance_.plan();
    set_phase(dataplane::Phase::kRunning);
    for (launched_ = 0; launched_ < plan.workers.size(); ++launched_) {
        threads_[launched_].worker = &appliance_.worker(launched_);
        const int code = rte_eal_remote_launch(WorkerThread::run, &threads_[launched_],
                                               plan.workers[launched_].lcore);
        if (code != 0) {
            const std::string name = name_of(launched_);
            if (code != -EBUSY) {
                // DPDK may have woken the lcore without reading its acknowledgement. The worker
                // then runs, and stops like the others.
                set_phase(dataplane::Phase::kStopped);
                sleep_for(kWaking);
                ++launched_;
            }
            stop_workers();
            return fail(Errc::kIo, name + " could not be launched: " + std::strerror(-code));
        }
    }
    return {};
}

std::string Supervisor::name_of(std::size_t worker) const {
    return name_of_worker(appliance_.plan(), worker);
}

// Start a timer for each filter that has generations. With clock = "capture" filters advance by the
// packets' timestamps instead.
void Supervisor::add_timers() {
    turns_.follow(appliance_.topology().present(), config_.run.clock == config::Clock::kTsc, now());
}

void Supervisor::turn_generations() {
    turns_.tick([&] { return now(); });
}

void Supervisor::reload_from(ReloadSource source) {
    reload_ = std::make_unique<Reload>(
        appliance_.topology(), appliance_.machine(), config_, std::move(source),
        [this](const std::string& line) { log_event(event::kReload, line); });
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
        warn(manager_.reloading(), event::kService);
        reloading_ = true;
        config_ = std::move(next->config);
        const std::lock_guard lock(plan_mutex_);
        plan_ = std::move(next->plan);
    } else if (reloading_ && !reload_->busy()) {
        warn(manager_.reloaded(), event::kService);
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

void Supervisor::watch(const std::atomic<bool>& stop) {
    CpuBudget budget;
    while (!stop.load(std::memory_order_relaxed)) {
        const Nanoseconds woken = now();
        if (WarmRestartStore* const state = appliance_.state()) {
            state->note_alive(woken);
        }
        turn_generations();
        step_reload();
        const bool busy = zero_segments();
        const Nanoseconds time = now();
        if (time >= next_link_check_) {
            check_links();
            log_shared_flows();
            check_clocks();
            sample_losses();
            next_link_check_ = time + config_.control.link_check;
        }
        if (time >= next_stalls_) {
            take_stalls(time);
            next_stalls_ = time + kStallTick;
        }
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
    warn(ThreadTrace::prepare(), event::kWorker);
    started_ = now();
    started_unix_.store(unix_now(), std::memory_order_relaxed);
    sample_losses();
    add_timers();
    if (const Status status = launch(); !status) {
        return tl::unexpected(status.error());
    }
    liveness_ = WorkerLiveness(launched_, poll_interval(config_), now(),
                               WatchdogPolicy::hangs_after(manager_.watchdog()));
    warn(manager_.ready(), event::kService);
    events_.add(event::kStart, "started as \"" + appliance_.plan().name + "\" with " +
                                   std::to_string(launched_) + " worker(s)");
    watch(stop);
    warn(manager_.stopping(), event::kService);
    if (reload_ != nullptr) {
        reload_->stop();
    }
    drain();
    log_shared_flows();
    check_clocks();
    stop_workers();
    take_stalls(now());
    reader_.close([&] {
        for (std::size_t i = 0; i < appliance_.plan().workers.size(); ++i) {
            appliance_.worker(i).settle_leftovers();
        }
    });
    return report();
}

bool Supervisor::finished(Nanoseconds time) {
    if (config_.run.duration && time - started_ >= *config_.run.duration) {
        return true;
    }
    return check_workers(time) && config_.run.stop_when_idle &&
           liveness_.idle() >= *config_.run.stop_when_idle;
}

// Return false if the check is not due yet.
bool Supervisor::check_workers(Nanoseconds time) {
    if (time < next_liveness_check_) {
        return false;
    }
    next_liveness_check_ = time + poll_interval(config_);
    check_liveness(time);
    if (const std::optional<std::string> line = hung_.line(time)) {
        log_event(event::kWorker, *line, Severity::kError);
    }
    if (service_watch_.feed(liveness_.longest_standstill(), time)) {
        manager_.feed_watchdog();
    }
    if (manager_.listens()) {
        tell_status(time);
    }
    return true;
}

void Supervisor::check_liveness(Nanoseconds time) {
    std::vector<Heartbeat> beats;
    for (std::size_t i = 0; i < launched_; ++i) {
        const dataplane::WorkerShared& worker = appliance_.shared(i);
        beats.push_back({worker.heartbeat.load(std::memory_order_acquire),
                         worker.busy.load(std::memory_order_relaxed)});
    }
    for (const WorkerLiveness::Change change : liveness_.sample(beats, time)) {
        if (change.absent) {
            log_event(
                event::kWorker,
                hung_.add(change.worker, threads_[change.worker].id.load(),
                          appliance_.shared(change.worker).stage.load(std::memory_order_relaxed),
                          liveness_.standstill(change.worker)),
                Severity::kError);
        } else {
            log_event(event::kWorker, name_of(change.worker) + " polls again");
        }
    }
}

// Request counters in one call and read them in a later one, so that no worker is waited for.
void Supervisor::tell_status(Nanoseconds time) {
    if (service_watch_.status_due(time)) {
        reader_.request_snapshots();
        status_asked_ = true;
        return;
    }
    if (!status_asked_) {
        return;
    }
    const std::optional<DispositionCounts> totals = reader_.answered(appliance_.plan());
    if (!totals) {
        return;
    }
    const Nanoseconds since = time - (reported_at_ == 0 ? started_ : reported_at_);
    manager_.status("forwarding on " + std::to_string(launched_) + " worker(s): " +
                    rate_of(totals->received - reported_.received, since) + " received, " +
                    rate_of(totals->forwarded - reported_.forwarded, since) + " forwarded, " +
                    rate_of(totals->dropped - reported_.dropped, since) + " dropped");
    status_asked_ = false;
    reported_ = *totals;
    reported_at_ = time;
}

void Supervisor::warn(const Status& status, std::string_view event) {
    if (!status) {
        log_({Severity::kWarning, event, status.error().context});
    }
}

void Supervisor::log_event(std::string_view kind, const std::string& line, Severity severity) {
    log_({severity, kind, line});
    events_.add(kind, line);
}

void Supervisor::check_links() {
    for (std::size_t i = 0; i < appliance_.ports().size(); ++i) {
        const bool up = appliance_.ports()[i].link_up();
        if (up != link_up_[i]) {
            link_up_[i] = up;
            log_event(
                event::kLink,
                "port \"" + appliance_.plan().ports[i].name + "\": link " + (up ? "up" : "down"),
                up ? Severity::kNotice : Severity::kWarning);
        }
    }
}

void Supervisor::log_shared_flows() {
    for (const auto& [filter, root] : appliance_.roots()) {
        for (const LogLine& line : root->take_lines()) {
            log_event(event::kRoot, line.text, line.severity);
        }
    }
}

void Supervisor::check_clocks() {
    const Nanoseconds before = now();
    const std::uint64_t unix_ns = unix_now();
    if (const std::optional<std::string> step = clock_watch_.sample(before, unix_ns, now())) {
        log_event(event::kTime, *step, Severity::kWarning);
    }
}

// Some drivers update their counters when they are read: one thread at a time.
eal::DeviceCounters Supervisor::device_counters(std::size_t port) {
    const std::lock_guard lock(devices_);
    return appliance_.ports()[port].device_counters();
}

// Skip the sample while a report reads the devices: generations do not wait for that.
void Supervisor::sample_losses() {
    const std::unique_lock lock(devices_, std::try_to_lock);
    if (!lock) {
        return;
    }
    for (std::size_t i = 0; i < appliance_.ports().size(); ++i) {
        if (plan_->ports[i].receives) {
            const eal::DeviceCounters device = appliance_.ports()[i].device_counters();
            losses_.sample(i, now(), device.rx_missed + device.rx_no_mbuf);
        }
    }
}

void Supervisor::take_stalls(Nanoseconds time) {
    struct Taken {
        std::size_t worker;
        dataplane::Stall stall;
        std::uint64_t lost = 0;
    };
    std::vector<Taken> taken;
    for (std::size_t i = 0; i < appliance_.plan().workers.size(); ++i) {
        dataplane::Stall stall;
        while (appliance_.shared(i).stalls.pop(stall)) {
            taken.push_back({i, stall});
        }
    }
    if (!taken.empty()) {
        sample_losses();
    }
    // Attribute losses to the longest stall first: most of them probably fell into it.
    std::vector<Taken*> longest;
    for (Taken& one : taken) {
        longest.push_back(&one);
    }
    std::sort(longest.begin(), longest.end(), [](const Taken* one, const Taken* other) {
        return one->stall.took > other->stall.took;
    });
    for (Taken* one : longest) {
        one->lost = take_losses(one->worker, one->stall.begin);
    }
    for (Taken& one : taken) {
        const std::uint64_t unix_begin = unix_now() - (time - std::min(time, one.stall.begin));
        // Report the time since the start: the clock may continue that of the previous process.
        one.stall.begin -= std::min(one.stall.begin, started_);
        stalls_.add(one.worker, unix_begin, one.lost, one.stall);
    }
    if (const std::optional<std::string> line = stalls_.line(time)) {
        log_event(event::kStall, *line, Severity::kWarning);
    }
}

std::uint64_t Supervisor::take_losses(std::size_t worker, Nanoseconds begin) {
    std::set<PortIndex> ports;
    for (const RxAssignment& rx : plan_->workers[worker].rx) {
        ports.insert(rx.port);
    }
    std::uint64_t lost = 0;
    for (const PortIndex port : ports) {
        lost += losses_.take(port, begin);
    }
    return lost;
}

Nanoseconds Supervisor::until_due(Nanoseconds time) const {
    const bool hurried = reload_ != nullptr && reload_->busy();
    Nanoseconds due = time + (time < catch_up_until_ ? kCatchUpTick
                              : hurried              ? kReloadTick
                                                     : kTick);
    due = std::min(due, turns_.due());
    return due > time ? due - time : 0;
}

// Stop receiving, and let packets between workers reach their destination, for at most
// drain_timeout. Drained means: in two consecutive reports nothing handed over is missing, and no
// burst came between.
void Supervisor::drain() {
    set_phase(dataplane::Phase::kDraining);
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
                silent = name_of(i) + " does not answer; ";
            }
        }
        if (all.handed_out == all.handed_in && all.bursts == last_bursts && silent.empty()) {
            return;
        }
        last_bursts = all.bursts;
        check_workers(now());
        sleep_for(kDrainTick);
    }
    log_({Severity::kWarning, event::kWorker,
          silent + "packets may still be between workers after " +
              format_duration(config_.control.drain_timeout) +
              "; they are counted as \"stopped\""});
}

void Supervisor::set_phase(dataplane::Phase phase) {
    for (std::size_t i = 0; i < appliance_.plan().workers.size(); ++i) {
        appliance_.shared(i).phase.store(phase, std::memory_order_release);
    }
}

void Supervisor::stop_workers() {
    reader_.stop_asking();
    set_phase(dataplane::Phase::kStopped);
    for (std::size_t i = 0; i < launched_; ++i) {
        wait_for(i);
    }
    launched_ = 0;
}

// rte_eal_wait_lcore() spins, so call it only when the lcore has finished.
void Supervisor::wait_for(std::size_t worker) {
    const LcoreId lcore = appliance_.plan().workers[worker].lcore;
    SleepBackoff pauses;
    const Nanoseconds patience = now() + WorkerLiveness::kAbsence;
    bool said = false;
    while (rte_eal_get_lcore_state(lcore) != WAIT) {
        if (!said && now() >= patience) {
            log_({Severity::kError, event::kWorker,
                  name_of(worker) + " does not return; waiting for it"});
            said = true;
        }
        pauses.pause();
    }
    rte_eal_wait_lcore(lcore);
}

StatsReport Supervisor::report(Nanoseconds patience) {
    const std::shared_ptr<const Plan> plan = this->plan();
    StatsReport report = reader_.read(*plan, patience);
    report.plan = plan;
    if (const std::uint64_t told = epochs_.exchange(report.epochs.count);
        report.epochs.count > told) {
        events_.add(event::kTime, "the time of captures stepped back " +
                                      format_count(report.epochs.count - told) + " time(s)");
    }
    report.uptime = now() - started_;
    report.start_unix = started_unix_.load(std::memory_order_relaxed);
    report.events = events_.all();
    for (std::size_t i = 0; i < report.workers.size(); ++i) {
        report.workers[i].stall_log = stalls_.of(i);
    }
    for (std::size_t i = 0; i < appliance_.ports().size(); ++i) {
        const eal::Port& port = appliance_.ports()[i];
        PortReport& out = report.ports[i];
        out.link_up = port.link_up();
        fold<eal::DeviceCounters>(eal::kDeviceCounters, device_counters(i), out);
    }
    for (std::size_t f = 0; f < report.filters.size(); ++f) {
        report.filters[f].longest_generation = turns_.longest(plan->filter_place(f));
        if (const shared_flows::SharedFlows* const root = appliance_.root(plan->filters[f].name)) {
            report.filters[f].root.answers = root->counters();
        }
    }
    return report;
}

}  // namespace unecho::appliance
