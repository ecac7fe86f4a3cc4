// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/dataplane/reporter.h"

#include "dedup/pipeline/stages.h"

namespace unecho::dataplane {

Reporter::Reporter(const ReportSetup& setup, const WorkerParameters& common, Counters& counters,
                   FilterStage& filters, PollProfiler& profiler) noexcept
    : common_(common), counters_(counters), filters_(filters), profiler_(profiler) {
    apply_config(setup);
}

void Reporter::apply_config(const ReportSetup& setup) noexcept {
    setup_ = setup;
    reported_ = 0;
    for (RouteIndex route = 0; route < kMaxRoutes; ++route) {
        if (setup.taps[route] != nullptr) {
            routes_[reported_++] = route;
        }
    }
}

void Reporter::add_flows(Burst& burst) noexcept {
    for (unsigned i = 0; i < burst.count; ++i) {
        burst.taps[i] = setup_.tap_of[burst.mbufs[i]->port];
    }
    report_flows(burst, *setup_.taps[burst.route], common_.capture_clock);
}

void Reporter::end_windows() noexcept {
    if (reported_ == 0 || common_.capture_clock) {
        return;
    }
    const Nanoseconds now = common_.clock.now();
    for (unsigned i = 0; i < reported_; ++i) {
        setup_.taps[routes_[i]]->tick(now);
    }
}

// Model: tests/models/snapshot.pml.
void Reporter::answer() noexcept {
    WorkerShared& shared = *setup_.shared;
    shared.busy.store(counters_.polls - counters_.empty_polls, std::memory_order_relaxed);
    shared.heartbeat.store(counters_.polls, std::memory_order_release);
    const std::uint64_t wanted = shared.snapshot_wanted.load(std::memory_order_acquire);
    if (wanted != shared.snapshot_taken.load(std::memory_order_relaxed)) {
        take_snapshot(wanted);
    }
}

void Reporter::take_last_snapshot() noexcept {
    take_snapshot(setup_.shared->snapshot_wanted.load(std::memory_order_acquire));
}

void Reporter::take_snapshot(std::uint64_t wanted) noexcept {
    WorkerShared& shared = *setup_.shared;
    filters_.report(shared);
    profiler_.report();
    shared.snapshot = counters_;
    for (unsigned i = 0; i < reported_; ++i) {
        shared.taps[routes_[i]] = setup_.taps[routes_[i]]->summary();
    }
    shared.snapshot_taken.store(wanted, std::memory_order_release);
}

}  // namespace unecho::dataplane
