// SPDX-License-Identifier: BSD-3-Clause
#include "control/stats.h"

#include <chrono>
#include <thread>

#include "control/stats_fold.h"

namespace unecho::control {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kAnswerTimeout = std::chrono::seconds(1);

}  // namespace

// A snapshot is the worker's to write from when it is wanted until it is taken. One that comes too
// late is therefore left alone: it may be half written.
void StatsReader::take() {
    if (!closed_) {
        ask();
    }
    const auto deadline = Clock::now() + kAnswerTimeout;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
        const dataplane::WorkerShared& worker = *workers_[i];
        const std::uint64_t wanted = worker.snapshot_wanted.load(std::memory_order_relaxed);
        const auto answered = [&] {
            return worker.snapshot_taken.load(std::memory_order_acquire) == wanted;
        };
        while (!answered() && Clock::now() < deadline) {
            std::this_thread::yield();
        }
        if (answered()) {
            last_[i] = {worker.snapshot, worker.filters, worker.taps};
        }
    }
}

void StatsReader::ask() {
    for (dataplane::WorkerShared* worker : workers_) {
        const std::uint64_t wanted = worker->snapshot_wanted.load(std::memory_order_relaxed) + 1;
        worker->snapshot_wanted.store(wanted, std::memory_order_release);
    }
}

Report StatsReader::read(const Plan& plan) {
    const std::lock_guard lock(mutex_);
    take();
    const std::vector<Snapshot> earlier = last_;
    // With one worker, one look is consistent in itself. With several, a packet may pass from one
    // that was looked at to one that was not yet: what was received is therefore read after what
    // became of it, so that nothing is ever accounted for before it was received.
    if (workers_.size() > 1) {
        take();
    }
    const std::vector<Snapshot>& later = last_;
    Report report = empty_report(plan);
    for (std::size_t i = 0; i < workers_.size(); ++i) {
        add_outcomes(plan, earlier[i].counters, report);
        add_received(plan, later[i].counters, report);
        report.workers[i] = worker_report(plan, earlier[i].counters);
        for (std::size_t f = 0; f < plan.filters.size(); ++f) {
            add_filter(earlier[i].filters[f], report.filters[f]);
        }
    }
    for (std::size_t r = 0; r < plan.routes.size(); ++r) {
        std::vector<filter::TapSummary> taps;
        for (const Snapshot& snapshot : earlier) {
            taps.push_back(snapshot.taps[r]);
        }
        report.routes[r].taps = sum_of(taps);
    }
    finish(report);
    return report;
}

}  // namespace unecho::control
