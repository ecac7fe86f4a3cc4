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

void StatsReader::take(std::vector<Snapshot>& out) {
    std::vector<std::uint64_t> wanted;
    for (dataplane::WorkerShared* worker : workers_) {
        wanted.push_back(worker->snapshot_wanted.load(std::memory_order_relaxed) + 1);
        worker->snapshot_wanted.store(wanted.back(), std::memory_order_release);
    }
    const auto deadline = Clock::now() + kAnswerTimeout;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
        dataplane::WorkerShared& worker = *workers_[i];
        while (worker.snapshot_taken.load(std::memory_order_acquire) != wanted[i] &&
               Clock::now() < deadline) {
            std::this_thread::yield();
        }
        out[i].counters = worker.snapshot;
        out[i].filters = worker.filters;
    }
}

Report StatsReader::read(const Plan& plan) {
    const std::lock_guard lock(mutex_);
    std::vector<Snapshot> earlier(workers_.size());
    take(earlier);
    // With one worker, one look is consistent in itself. With several, a packet may pass from one
    // that was looked at to one that was not yet: what was received is therefore read after what
    // became of it, so that nothing is ever accounted for before it was received.
    std::vector<Snapshot> later = earlier;
    if (workers_.size() > 1) {
        take(later);
    }
    Report report = empty_report(plan);
    for (std::size_t i = 0; i < workers_.size(); ++i) {
        add_outcomes(plan, earlier[i].counters, report);
        add_received(plan, later[i].counters, report);
        report.workers[i] = worker_report(plan, earlier[i].counters);
        for (std::size_t f = 0; f < plan.filters.size(); ++f) {
            add_filter(earlier[i].filters[f], report.filters[f]);
        }
    }
    finish(report);
    return report;
}

}  // namespace unecho::control
