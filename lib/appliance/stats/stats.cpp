// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/stats/stats.h"

#include <algorithm>
#include <ctime>

#include "appliance/stats/stats_fold.h"
#include "appliance/timers/sleep_backoff.h"

namespace unecho::control {
namespace {

Nanoseconds steady_now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<Nanoseconds>(time.tv_sec) * kSecond + static_cast<Nanoseconds>(time.tv_nsec);
}

}  // namespace

// Whether the worker answered what it was asked last. It is not waited for longer than until the
// deadline, nor when nobody asks any more.
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

// True if all workers answered, each with what it had counted when it was asked or later. One that
// did not answer the last time is not waited for. A snapshot is the worker's to write from when it
// is wanted until it is taken. One that comes too late is therefore left alone: it may be half
// written.
bool StatsReader::take(Nanoseconds patience) {
    const bool asked = asking_.load(std::memory_order_relaxed);
    if (asked) {
        ask();
    }
    const Nanoseconds deadline = steady_now() + patience;
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

// Who has answered since what he was asked last, however late, is waited for again. Who has not
// hangs, and a look that asks ten times would else hang ten times as long.
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
    bool all = take(patience);
    const std::vector<Snapshot> earlier = last_;
    // With one worker, one look is consistent in itself. With several, a packet may pass from one
    // that was looked at to one that was not yet: what was received is therefore read after what
    // became of it, so that nothing is ever accounted for before it was received.
    if (workers_.size() > 1) {
        all = take(patience);
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
    for (std::size_t r = 0; r < plan.routes.size(); ++r) {
        std::vector<filter::TapSummary> taps;
        for (const Snapshot& snapshot : earlier) {
            taps.push_back(snapshot.taps[plan.route_place(r)]);
        }
        report.routes[r].taps = sum_of(taps);
    }
    if (workers_.size() > 1 && !all) {
        receive_what_was_settled(report);
    }
    finish(report);
    return report;
}

}  // namespace unecho::control
