// SPDX-License-Identifier: BSD-3-Clause
#include "control/supervisor.h"

#include <algorithm>
#include <ctime>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_launch.h>
#include <sys/prctl.h>

#include "control/prompt_thread.h"

namespace unecho::control {
namespace {

// Stop flags and idleness are looked at this often.
constexpr Nanoseconds kTick = 5 * kMillisecond;
constexpr Nanoseconds kIdleTick = 20 * kMillisecond;
constexpr Nanoseconds kDrainTick = kMillisecond;

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

void sleep_for(Nanoseconds ns) {
    const timespec time{static_cast<std::time_t>(ns / kSecond), static_cast<long>(ns % kSecond)};
    nanosleep(&time, nullptr);
}

}  // namespace

Supervisor::Supervisor(Appliance& appliance, const config::Config& config, Log log)
    : appliance_(appliance),
      config_(config),
      log_(std::move(log)),
      reader_(shared_of(appliance)),
      longest_(appliance.plan().filters.size()),
      link_up_(appliance.ports().size(), true) {}

Nanoseconds Supervisor::now() const {
    return appliance_.clock().at(rte_rdtsc());
}

Status Supervisor::launch() {
    const Plan& plan = appliance_.plan();
    for (std::size_t i = 0; i < plan.workers.size(); ++i) {
        const int code =
            rte_eal_remote_launch(run_worker, &appliance_.worker(i), plan.workers[i].lcore);
        if (code != 0) {
            stop_workers();
            return fail(Errc::kIo, "worker " + std::to_string(i) + " on lcore " +
                                       std::to_string(plan.workers[i].lcore) +
                                       " could not be launched");
        }
    }
    return {};
}

// A generation for each filter that has segments; captures carry their own time.
void Supervisor::add_timers() {
    const Plan& plan = appliance_.plan();
    for (std::size_t w = 0; w < plan.workers.size(); ++w) {
        for (const auto& instance : appliance_.instances(w)) {
            if (filter::SegmentRing* segments = instance->segments()) {
                cleaner_.add(instance->shared(), instance->memory(),
                             segments->geometry().segment_bytes);
            }
        }
    }
    if (config_.run.clock == config::Clock::kCapture) {
        return;
    }
    for (std::size_t f = 0; f < plan.filters.size(); ++f) {
        if (ages_by_generation(plan.filters[f].geometry)) {
            rotations_.emplace_back(appliance_.filter_shared(f), plan.filters[f].clock.length,
                                    now());
            rotating_filters_.push_back(f);
        }
    }
}

Result<Report> Supervisor::run(const std::atomic<bool>& stop) {
    // The default slack of 50 us would be added to every generation.
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    const PromptThread prompt;
    if (!prompt.status()) {
        log_(prompt.status().error().context + "; beside other threads, generations may turn late");
    }
    started_ = last_packet_ = now();
    add_timers();
    if (const Status status = launch(); !status) {
        return tl::unexpected(status.error());
    }
    Fatigue fatigue;
    while (!stop.load(std::memory_order_relaxed)) {
        const Nanoseconds woken = now();
        for (std::size_t i = 0; i < rotations_.size(); ++i) {
            if (rotations_[i].tick([&] { return now(); })) {
                longest_[rotating_filters_[i]].store(rotations_[i].longest(),
                                                     std::memory_order_relaxed);
            }
        }
        const bool busy = cleaner_.step();
        const Nanoseconds time = now();
        if (time >= next_link_check_) {
            check_links();
            next_link_check_ = time + config_.control.link_check;
        }
        if (finished(time)) {
            break;
        }
        fatigue.worked(now() - woken);
        const Nanoseconds pause = fatigue.rest_due() ? Fatigue::kRest : busy ? 0 : until_due(time);
        if (pause > 0) {
            sleep_for(pause);
            fatigue.slept(pause);
        }
    }
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
    if (!config_.run.stop_when_idle || time < next_idle_check_) {
        return false;
    }
    next_idle_check_ = time + std::min(kIdleTick, *config_.run.stop_when_idle);
    const std::uint64_t received = reader_.read(appliance_.plan()).totals.received;
    if (received != last_received_) {
        last_received_ = received;
        last_packet_ = time;
    }
    return time - last_packet_ >= *config_.run.stop_when_idle;
}

void Supervisor::check_links() {
    for (std::size_t i = 0; i < appliance_.ports().size(); ++i) {
        const bool up = appliance_.ports()[i].link().up;
        if (up != link_up_[i]) {
            link_up_[i] = up;
            log_("port \"" + appliance_.plan().ports[i].name + "\": link " + (up ? "up" : "down"));
        }
    }
}

Nanoseconds Supervisor::until_due(Nanoseconds time) const {
    Nanoseconds due = time + kTick;
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
    while (now() < deadline) {
        const Report report = reader_.read(appliance_.plan());
        std::uint64_t out = 0;
        std::uint64_t in = 0;
        std::uint64_t bursts = 0;
        for (const WorkerReport& worker : report.workers) {
            out += worker.handed_out;
            in += worker.handed_in;
            bursts += worker.bursts;
        }
        if (out == in && bursts == last_bursts) {
            return;
        }
        last_bursts = bursts;
        sleep_for(kDrainTick);
    }
    log_("packets were still between workers after " +
         format_duration(config_.control.drain_timeout) + "; they are counted as \"stopped\"");
}

void Supervisor::set_phase(dataplane::Phase phase) {
    for (std::size_t i = 0; i < appliance_.plan().workers.size(); ++i) {
        appliance_.shared(i).phase.store(phase, std::memory_order_release);
    }
}

void Supervisor::stop_workers() {
    set_phase(dataplane::Phase::kStopped);
    for (const WorkerPlan& worker : appliance_.plan().workers) {
        rte_eal_wait_lcore(worker.lcore);
    }
}

Report Supervisor::report() {
    Report report = reader_.read(appliance_.plan());
    report.uptime = now() - started_;
    for (std::size_t i = 0; i < appliance_.ports().size(); ++i) {
        const eal::Port& port = appliance_.ports()[i];
        PortReport& out = report.ports[i];
        out.link_up = port.link().up;
        const eal::DeviceCounters device = port.device_counters();
        out.rx_missed = device.rx_missed;
        out.rx_no_mbuf = device.rx_no_mbuf;
        out.rx_errors = device.rx_errors;
        out.tx_errors = device.tx_errors;
    }
    for (std::size_t f = 0; f < longest_.size(); ++f) {
        report.filters[f].longest_generation = longest_[f].load(std::memory_order_relaxed);
    }
    return report;
}

}  // namespace unecho::control
