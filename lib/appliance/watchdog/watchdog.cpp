// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/watchdog/watchdog.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "base/os/clock.h"

namespace unecho::appliance {
namespace {

// Short enough that many stalls cannot fill the queue from a worker in this time.
constexpr Nanoseconds kStallTick = 15 * kMillisecond;

// Format the rate as "1.2 Mpps".
std::string rate_of(std::uint64_t packets, Nanoseconds time) {
    return format_rate(static_cast<double>(packets) * 1e9 / static_cast<double>(time));
}

}  // namespace

Watchdog::Watchdog(Appliance& appliance, const WorkerThreads& threads, StatsReader& reader,
                   const EventWriter& events)
    : appliance_(appliance),
      threads_(threads),
      reader_(reader),
      events_(events),
      link_up_(appliance.ports().size(), true),
      liveness_(threads.size(), 0, 0),
      hung_(threads.names()),
      stalls_(threads.names()),
      losses_(appliance.ports().size()) {}

void Watchdog::begin(const Plan& plan, Nanoseconds now) {
    started_ = now;
    sample_losses(plan);
}

void Watchdog::workers_run(Nanoseconds between_checks, Nanoseconds now) {
    liveness_ = WorkerLiveness(threads_.running(), between_checks, now,
                               WatchdogPolicy::hangs_after(manager_.watchdog()));
}

void Watchdog::check(const Plan& plan, Nanoseconds between_link_checks, Nanoseconds now) {
    if (now >= next_link_check_) {
        check_links();
        log_shared_flows();
        check_clocks();
        sample_losses(plan);
        next_link_check_ = now + between_link_checks;
    }
    if (now >= next_stalls_) {
        take_stalls(plan, now);
        next_stalls_ = now + kStallTick;
    }
}

bool Watchdog::check_workers(Nanoseconds between_checks, Nanoseconds now) {
    if (now < next_liveness_check_) {
        return false;
    }
    next_liveness_check_ = now + between_checks;
    check_liveness(now);
    if (const std::optional<std::string> line = hung_.line(now)) {
        events_.add(event::kWorker, *line, Severity::kError);
    }
    if (policy_.feed(liveness_.longest_standstill(), now)) {
        manager_.feed_watchdog();
    }
    if (manager_.listens()) {
        report_status(now);
    }
    return true;
}

void Watchdog::drained() {
    log_shared_flows();
    check_clocks();
}

void Watchdog::stopped(const Plan& plan, Nanoseconds now) {
    take_stalls(plan, now);
}

void Watchdog::check_liveness(Nanoseconds now) {
    std::vector<Heartbeat> beats;
    for (std::size_t i = 0; i < threads_.running(); ++i) {
        const dataplane::WorkerShared& worker = appliance_.shared(i);
        beats.push_back({worker.heartbeat.load(std::memory_order_acquire),
                         worker.busy.load(std::memory_order_relaxed)});
    }
    for (const WorkerLiveness::Change change : liveness_.sample(beats, now)) {
        if (change.absent) {
            const dataplane::WorkerShared& worker = appliance_.shared(change.worker);
            events_.add(event::kWorker,
                        hung_.add(change.worker, threads_.thread(change.worker),
                                  worker.stage.load(std::memory_order_relaxed),
                                  liveness_.standstill(change.worker)),
                        Severity::kError);
        } else {
            events_.add(event::kWorker, threads_.name_of(change.worker) + " polls again");
        }
    }
}

// Request counters in one call and read them in a later one, so that no worker is waited for.
void Watchdog::report_status(Nanoseconds now) {
    if (policy_.status_due(now)) {
        reader_.request_snapshots();
        status_requested_ = true;
        return;
    }
    if (!status_requested_) {
        return;
    }
    const std::optional<DispositionCounts> totals = reader_.answered(appliance_.plan());
    if (!totals) {
        return;
    }
    const Nanoseconds since = now - (reported_at_ == 0 ? started_ : reported_at_);
    manager_.status(fmt::format("forwarding on {} worker(s): {} received, {} forwarded, {} dropped",
                                threads_.running(),
                                rate_of(totals->received - reported_.received, since),
                                rate_of(totals->forwarded - reported_.forwarded, since),
                                rate_of(totals->dropped - reported_.dropped, since)));
    status_requested_ = false;
    reported_ = *totals;
    reported_at_ = now;
}

void Watchdog::check_links() {
    for (std::size_t i = 0; i < appliance_.ports().size(); ++i) {
        const bool up = appliance_.ports()[i].link_up();
        if (up != link_up_[i]) {
            link_up_[i] = up;
            events_.add(event::kLink,
                        fmt::format("port \"{}\": link {}", appliance_.plan().ports[i].name,
                                    up ? "up" : "down"),
                        up ? Severity::kNotice : Severity::kWarning);
        }
    }
}

void Watchdog::log_shared_flows() {
    for (const auto& [filter, root] : appliance_.roots()) {
        for (const LogLine& line : root->take_lines()) {
            events_.add(event::kRoot, line.text, line.severity);
        }
    }
}

void Watchdog::check_clocks() {
    const Nanoseconds before = appliance_.clock().now();
    const std::uint64_t unix_ns = unix_now();
    if (const std::optional<std::string> step =
            clock_steps_.sample(before, unix_ns, appliance_.clock().now())) {
        events_.add(event::kTime, *step, Severity::kWarning);
    }
}

// Some drivers update their counters when they are read: one thread at a time.
eal::DeviceCounters Watchdog::device_counters(std::size_t port) {
    const std::lock_guard lock(devices_);
    return appliance_.ports()[port].device_counters();
}

// Skip the sample while a report reads the devices: generations do not wait for that.
void Watchdog::sample_losses(const Plan& plan) {
    const std::unique_lock lock(devices_, std::try_to_lock);
    if (!lock) {
        return;
    }
    for (std::size_t i = 0; i < appliance_.ports().size(); ++i) {
        if (plan.ports[i].receives) {
            const eal::DeviceCounters device = appliance_.ports()[i].device_counters();
            losses_.sample(i, appliance_.clock().now(), device.rx_missed + device.rx_no_mbuf);
        }
    }
}

void Watchdog::take_stalls(const Plan& plan, Nanoseconds now) {
    struct Taken {
        std::size_t worker;
        dataplane::Stall stall;
        std::uint64_t lost = 0;
    };
    std::vector<Taken> taken;
    for (std::size_t i = 0; i < threads_.size(); ++i) {
        dataplane::Stall stall;
        while (appliance_.shared(i).stalls.pop(stall)) {
            taken.push_back({i, stall});
        }
    }
    if (!taken.empty()) {
        sample_losses(plan);
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
        one->lost = take_losses(plan, one->worker, one->stall.begin);
    }
    for (Taken& one : taken) {
        const std::uint64_t unix_begin = unix_now() - (now - std::min(now, one.stall.begin));
        // Report the time since the start: the clock may continue that of the previous process.
        one.stall.begin -= std::min(one.stall.begin, started_);
        stalls_.add(one.worker, unix_begin, one.lost, one.stall);
    }
    if (const std::optional<std::string> line = stalls_.line(now)) {
        events_.add(event::kStall, *line, Severity::kWarning);
    }
}

std::uint64_t Watchdog::take_losses(const Plan& plan, std::size_t worker, Nanoseconds begin) {
    std::set<PortIndex> ports;
    for (const RxAssignment& rx : plan.workers[worker].rx) {
        ports.insert(rx.port);
    }
    std::uint64_t lost = 0;
    for (const PortIndex port : ports) {
        lost += losses_.take(port, begin);
    }
    return lost;
}

void Watchdog::report(StatsReport& out) {
    for (std::size_t i = 0; i < out.workers.size(); ++i) {
        out.workers[i].stall_log = stalls_.of(i);
    }
    for (std::size_t i = 0; i < appliance_.ports().size(); ++i) {
        out.ports[i].link_up = appliance_.ports()[i].link_up();
        fold<eal::DeviceCounters>(eal::kDeviceCounters, device_counters(i), out.ports[i]);
    }
}

}  // namespace unecho::appliance
