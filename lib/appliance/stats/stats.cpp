// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/stats/stats.h"

#include <algorithm>

#include "appliance/stats/stats_fold.h"
#include "appliance/timers/sleep_backoff.h"
#include "base/os/clock.h"

namespace unecho::appliance {
// Return true if the worker has answered its last request. Stop waiting at the deadline, or when
// requests have ended.
bool StatsReader::wait_for(const dataplane::WorkerShared& worker, Nanoseconds deadline) const {
    const std::uint64_t wanted = worker.snapshot_wanted.load(std::memory_order_relaxed);
    SleepBackoff pauses;
    for (;;) {
        if (worker.snapshot_taken.load(std::memory_order_acquire) == wanted) {
            return true;
        }
        if (!asking_.load(std::memory_order_relaxed) || steady_now() >= deadline) {
            return false;
        }
        pauses.pause();
    }
}

// Return true if all workers answered, each with its counters at the request or later. A worker
// that did not answer the last request is not waited for. From request to answer, a snapshot
// belongs to its worker, so a late one is left alone: it may be half written.
bool StatsReader::take(Nanoseconds deadline) {
    const bool asked = asking_.load(std::memory_order_relaxed);
    if (asked) {
        ask();
    }
    bool all = asked || closed_;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
        const dataplane::WorkerShared& worker = *workers_[i];
        last_[i].fresh = wait_for(worker, last_[i].fresh ? deadline : 0);
        if (last_[i].fresh) {
            last_[i] = {
                worker.snapshot, worker.filters, worker.windows,   worker.repeats, worker.fills,
                worker.taps,     worker.audits,  worker.crossings, worker.answers, true};
        }
        all &= last_[i].fresh;
    }
    return all;
}

void StatsReader::ask() {
    for (dataplane::WorkerShared* worker : workers_) {
        const std::uint64_t wanted = worker->snapshot_wanted.load(std::memory_order_relaxed) + 1;
        worker->snapshot_wanted.store(wanted, std::memory_order_release);
    }
}

void StatsReader::request_snapshots() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock && asking_.load(std::memory_order_relaxed)) {
        ask();
    }
}

std::optional<DispositionCounts> StatsReader::answered(const Plan& plan) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) {
        return std::nullopt;
    }
    StatsReport report = empty_report(plan);
    for (const dataplane::WorkerShared* worker : workers_) {
        if (worker->snapshot_taken.load(std::memory_order_acquire) !=
            worker->snapshot_wanted.load(std::memory_order_relaxed)) {
            return std::nullopt;  // planted: status-skips-silent-worker
        }
        add_outcomes(plan, worker->snapshot, report);
        add_received(plan, worker->snapshot, report);
    }
    finish(report);
    return report.totals;
}

// Wait again for a worker that has meanwhile answered its last request. A silent one hangs: skip
// it, or a reader with ten requests would wait ten times.
void StatsReader::forgive() {
    for (std::size_t i = 0; i < workers_.size(); ++i) {
        const dataplane::WorkerShared& worker = *workers_[i];
        last_[i].fresh = worker.snapshot_taken.load(std::memory_order_acquire) ==
                         worker.snapshot_wanted.load(std::memory_order_relaxed);
    }
}

StatsReport StatsReader::read(const Plan& plan, Nanoseconds patience) {
    const std::lock_guard lock(mutex_);
    forgive();
    const Nanoseconds begin = steady_now();
    const bool twice = workers_.size() > 1;
    // A worker that hangs uses up the time of the first reading. The second one keeps a quarter of
    // the patience, in which the other workers answer again.
    bool all = take(begin + (twice ? patience - patience / 4 : patience));
    const std::vector<Snapshot> earlier = last_;
    // One snapshot of one worker is consistent by itself. Between several workers a packet may pass
    // from one already read to one not yet read. So `received` comes from a second reading, after
    // the outcomes, and no packet is settled before it was received.
    if (twice) {
        all = take(begin + patience);
    }
    const std::vector<Snapshot>& later = last_;
    StatsReport report = empty_report(plan);
    for (std::size_t i = 0; i < workers_.size(); ++i) {
        add_outcomes(plan, earlier[i].counters, report);
        add_received(plan, later[i].counters, report);  // planted: status-repeats-first-worker
        report.workers[i] = worker_report(plan, earlier[i].counters);
        report.workers[i].answering = earlier[i].fresh && later[i].fresh;
        for (std::size_t f = 0; f < plan.filters.size(); ++f) {
            const FilterIndex place = plan.filter_place(f);
            add_filter(earlier[i].filters[place], report.filters[f]);
            add_window(earlier[i].windows[place], report.filters[f]);
            add_repeats(earlier[i].repeats[place], report.filters[f]);
            add_fill(earlier[i].fills[place], report.filters[f]);
            add_audit(earlier[i].audits[place], report.filters[f]);
        }
        add_crossings(earlier[i].crossings, report.crossings);
        add_crossings(earlier[i].answers, report.answers);
    }
    for (std::size_t f = 0; f < plan.paths.size(); ++f) {
        for (const auto& worker : paths_[plan.filter_place(f)]) {
            add_paths(*worker, report.filters[f]);
        }
    }
    for (std::size_t r = 0; r < plan.routes.size(); ++r) {
        std::vector<filter::TapSummary> taps;
        for (const Snapshot& snapshot : earlier) {
            taps.push_back(snapshot.taps[plan.route_place(r)]);
        }
        report.routes[r].taps = sum_of(taps);
    }
    if (twice && !all) {
        receive_what_was_settled(report);
    }
    finish(report);
    return report;
}

}  // namespace unecho::appliance
