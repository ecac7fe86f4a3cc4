// SPDX-License-Identifier: BSD-3-Clause
#include "control/supervisor.h"

#include <algorithm>
#include <cstring>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_launch.h>
#include <sys/prctl.h>

#include "control/cpu_budget.h"
#include "control/pause.h"
#include "control/realtime_priority.h"

namespace unecho::control {
namespace {

// Stop flags and workers are looked at this often.
constexpr Nanoseconds kTick = 5 * kMillisecond;
constexpr Nanoseconds kAttendanceTick = 20 * kMillisecond;
constexpr Nanoseconds kDrainTick = kMillisecond;

// While generations end early, retired segments are looked for this often, and for so long after.
constexpr Nanoseconds kHurriedTick = 50 * kMicrosecond;
constexpr Nanoseconds kHurry = 10 * kMillisecond;

int run_worker(void* worker) {
    static_cast<dataplane::Worker*>(worker)->run();
    return 0;
}

std::vector<dataplane::WorkerShared*> shared_of(Appliance& appliance) {
    std::vector<dataplane::WorkerShared*> out;
    for (std::size_t i = 0; i < appliance.plan().workers.size(); ++i) {
        out.push_back(&appliance.shared(i));
    }
    return out;
}

// Often enough to see an idleness of this length.
Nanoseconds between_looks(const config::Config& config) {
    return std::min(kAttendanceTick, config.run.stop_when_idle.value_or(kAttendanceTick));
}

}  // namespace

Supervisor::Supervisor(Appliance& appliance, const config::Config& config, Log log)
    : appliance_(appliance),
      config_(config),
      log_(std::move(log)),
      reader_(shared_of(appliance)),
      longest_(appliance.plan().filters.size()),
      link_up_(appliance.ports().size(), true),
      attendance_(appliance.plan().workers.size(), between_looks(config_), now()) {}

Nanoseconds Supervisor::now() const {
    return appliance_.clock().at(rte_rdtsc());
}

Status Supervisor::launch() {
    const Plan& plan = appliance_.plan();
    set_phase(dataplane::Phase::kRunning);
    for (launched_ = 0; launched_ < plan.workers.size(); ++launched_) {
        const int code = rte_eal_remote_launch(run_worker, &appliance_.worker(launched_),
                                               plan.workers[launched_].lcore);
        if (code != 0) {
            const std::string name = name_of(launched_);
            stop_workers();
            return fail(Errc::kIo, name + " could not be launched: " + std::strerror(-code));
        }
    }
    return {};
}

std::string Supervisor::name_of(std::size_t worker) const {
    return "worker " + std::to_string(worker) + " on lcore " +
           std::to_string(appliance_.plan().workers[worker].lcore);
}

// A generation for each filter that has segments; captures carry their own time.
void Supervisor::add_timers() {
    const Plan& plan = appliance_.plan();
    for (std::size_t w = 0; w < plan.workers.size(); ++w) {
        for (const auto& filter : appliance_.filters_of(w)) {
            if (filter::SegmentRing* segments = filter->instance().segments()) {
                zeroer_.add(filter->shared(), filter->instance().memory(),
                            segments->geometry().segment_bytes);
            }
        }
    }
    if (config_.run.clock == config::Clock::kCapture) {
        return;
    }
    for (std::size_t f = 0; f < plan.filters.size(); ++f) {
        if (plan.filters[f].engine().by_generation) {
            rotations_.emplace_back(appliance_.filter_shared(f), plan.filters[f].clock.length,
                                    now());
            rotating_filters_.push_back(f);
        }
    }
}

void Supervisor::turn_generations() {
    for (std::size_t i = 0; i < rotations_.size(); ++i) {
        if (rotations_[i].tick([&] { return now(); })) {
            longest_[rotating_filters_[i]].store(rotations_[i].longest(),
                                                 std::memory_order_relaxed);
        }
    }
}

// Zeroes a piece; true if there may be more to do.
bool Supervisor::zero_segments() {
    const bool busy = zeroer_.step();
    if (const std::uint64_t early = zeroer_.early_turns(); early != early_turns_) {
        early_turns_ = early;
        hurried_until_ = now() + kHurry;
    }
    return busy;
}

// Until stop is set or the run is finished.
void Supervisor::watch(const std::atomic<bool>& stop) {
    CpuBudget budget;
    while (!stop.load(std::memory_order_relaxed)) {
        const Nanoseconds woken = now();
        turn_generations();
        const bool busy = zero_segments();
        const Nanoseconds time = now();
        if (time >= next_link_check_) {
            check_links();
            next_link_check_ = time + config_.control.link_check;
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
    // The default slack of 50 us would be added to every generation.
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    const RealtimePriority prompt;
    if (!prompt.status()) {
        log_(prompt.status().error().context + "; beside other threads, generations may turn late");
    }
    started_ = now();
    add_timers();
    if (const Status status = launch(); !status) {
        return tl::unexpected(status.error());
    }
    attendance_ = Attendance(launched_, between_looks(config_), now());
    watch(stop);
    drain();
    stop_workers();
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
    if (time < next_attendance_) {
        return false;
    }
    next_attendance_ = time + between_looks(config_);
    check_attendance(time);
    return config_.run.stop_when_idle && attendance_.idle() >= *config_.run.stop_when_idle;
}

void Supervisor::check_attendance(Nanoseconds time) {
    std::vector<Beat> beats;
    for (std::size_t i = 0; i < launched_; ++i) {
        const dataplane::WorkerShared& worker = appliance_.shared(i);
        beats.push_back({worker.heartbeat.load(std::memory_order_acquire),
                         worker.busy.load(std::memory_order_relaxed)});
    }
    for (const Attendance::Change change : attendance_.look(beats, time)) {
        log_(name_of(change.worker) + (change.absent ? " does not poll" : " polls again"));
    }
}

void Supervisor::check_links() {
    for (std::size_t i = 0; i < appliance_.ports().size(); ++i) {
        const bool up = appliance_.ports()[i].link_up();
        if (up != link_up_[i]) {
            link_up_[i] = up;
            log_("port \"" + appliance_.plan().ports[i].name + "\": link " + (up ? "up" : "down"));
        }
    }
}

Nanoseconds Supervisor::until_due(Nanoseconds time) const {
    Nanoseconds due = time + (time < hurried_until_ ? kHurriedTick : kTick);
    for (const Rotation& rotation : rotations_) {
        due = std::min(due, rotation.due());
    }
    return due > time ? due - time : 0;
}

// Nothing more is received; packets between workers go on their way, for a bounded time. Done when
// two looks in a row see nothing handed over that has not arrived, and no burst in between.
void Supervisor::drain() {
    set_phase(dataplane::Phase::kDraining);
    const Nanoseconds deadline = now() + config_.control.drain_timeout;
    std::uint64_t last_bursts = ~std::uint64_t{0};
    std::string silent;
    while (now() < deadline) {
        const Nanoseconds left = deadline - std::min(deadline, now());
        const StatsReport report =
            reader_.read(appliance_.plan(), std::min(left, StatsReader::kPatience));
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
        sleep_for(kDrainTick);
    }
    log_(silent + "packets may still be between workers after " +
         format_duration(config_.control.drain_timeout) + "; they are counted as \"stopped\"");
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

// rte_eal_wait_lcore() spins; it is called when there is nothing left to wait for.
void Supervisor::wait_for(std::size_t worker) {
    const LcoreId lcore = appliance_.plan().workers[worker].lcore;
    Pauses pauses;
    const Nanoseconds patience = now() + Attendance::kAbsence;
    bool said = false;
    while (rte_eal_get_lcore_state(lcore) != WAIT) {
        if (!said && now() >= patience) {
            log_(name_of(worker) + " does not return; waiting for it");
            said = true;
        }
        pauses.pause();
    }
    rte_eal_wait_lcore(lcore);
}

StatsReport Supervisor::report(Nanoseconds patience) {
    StatsReport report = reader_.read(appliance_.plan(), patience);
    report.uptime = now() - started_;
    for (std::size_t i = 0; i < appliance_.ports().size(); ++i) {
        const eal::Port& port = appliance_.ports()[i];
        PortReport& out = report.ports[i];
        out.link_up = port.link_up();
        fold<eal::DeviceCounters>(eal::kDeviceCounters, port.device_counters(), out);
    }
    for (std::size_t f = 0; f < longest_.size(); ++f) {
        report.filters[f].longest_generation = longest_[f].load(std::memory_order_relaxed);
    }
    return report;
}

}  // namespace unecho::control
