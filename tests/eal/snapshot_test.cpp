// SPDX-License-Identifier: BSD-3-Clause
// Copies of the counters while workers poll on their own threads: consistent at each moment, and
// complete when the workers have ended.
#include <atomic>
#include <thread>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include "appliance/stats/stats.h"
#include "appliance/timers/sleep_backoff.h"
#include "appliance/watchdog/realtime_priority.h"
#include "packets.h"
#include "rig.h"
#include "unit/appliance/plans.h"

namespace unecho::test {
namespace {

using Snapshots = EalTest;

appliance::Plan plan_on(unsigned workers) {
    config::Config config = appliance::taps_to_tool();
    std::vector<LcoreId> lcores;
    for (unsigned w = 0; w < workers; ++w) {
        lcores.push_back(w);
    }
    config.workers.lcores = lcores;
    return appliance::plan_of(config, appliance::machine_with({0, 1, 2, 3}),
                              appliance::all_of(config, appliance::device("net_null")));
}

// Runs the rig's workers until it is destroyed.
class Running {
  public:
    Running(Rig& rig, unsigned workers) : rig_(rig) {
        for (WorkerIndex w = 0; w < workers; ++w) {
            threads_.emplace_back([&rig, w] { rig.worker(w).run(); });
        }
    }
    ~Running() { stop(); }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    void stop() {
        rig_.set_phase(dataplane::Phase::kStopped);
        for (std::thread& thread : threads_) {
            thread.join();
        }
        threads_.clear();
    }

  private:
    Rig& rig_;
    std::vector<std::thread> threads_;
};

// Every snapshot must balance: exactly with one worker; with several, except for packets in flight.
TEST_F(Snapshots, read_while_workers_poll_always_balance) {
    for (const unsigned workers : {1U, 2U}) {
        const appliance::Plan plan = plan_on(workers);
        Layout layout;
        layout.workers = workers;
        layout.tx_retry_cycles = std::uint64_t{1} << 40;
        Rig rig(layout);
        appliance::StatsReader reader(rig.shareds());
        Running running(rig, workers);
        std::uint64_t offered = 0;
        appliance::DispositionCounts last;
        std::uint64_t moving = 0;  // reads amid the traffic, without which this proves nothing
        for (unsigned round = 0; round < 300; ++round) {
            for (unsigned i = 0; i < 20; ++i, ++offered) {
                rig.offer(static_cast<PortIndex>(i % 2), packet(i / 2, round));
            }
            const appliance::DispositionCounts now = reader.read(plan).totals;
            const std::uint64_t settled = now.forwarded + now.diverted + now.dropped;
            ASSERT_EQ(now.received, settled + now.in_flight);
            ASSERT_LE(now.in_flight, offered) << "more settled than received";
            ASSERT_TRUE(workers > 1 || now.in_flight == 0);
            ASSERT_LE(now.received, offered);
            ASSERT_GE(now.received, last.received);
            ASSERT_GE(now.forwarded, last.forwarded);
            ASSERT_GE(now.dropped, last.dropped);
            moving += now.received != last.received ? 1 : 0;
            last = now;
            rig.sent(2);
        }
        while (reader.read(plan).totals.received < offered) {
            rig.sent(2);
        }
        EXPECT_GT(moving, 10U);
        running.stop();
        reader.close([&] {
            for (WorkerIndex w = 0; w < workers; ++w) {
                rig.worker(w).settle_leftovers();
            }
        });
        const appliance::StatsReport report = reader.read(plan);
        EXPECT_EQ(report.totals.received, offered);
        EXPECT_EQ(report.totals.in_flight, 0U);
        EXPECT_EQ(report.totals.forwarded + report.totals.dropped, offered);
        rig.sent(2);
    }
}

// A worker double that answers each request with what the test wrote, until it falls silent.
class Answering {
  public:
    explicit Answering(dataplane::WorkerShared& shared)
        : shared_(shared), thread_([this] { run(); }) {}
    ~Answering() { fall_silent(); }
    Answering(const Answering&) = delete;
    Answering& operator=(const Answering&) = delete;

    void fall_silent() {
        stop_.store(true);
        if (thread_.joinable()) {
            thread_.join();
        }
    }

  private:
    void run() {
        while (!stop_.load()) {
            const std::uint64_t wanted = shared_.snapshot_wanted.load();
            shared_.snapshot_taken.store(wanted);
            appliance::sleep_for(10 * kMicrosecond);
        }
    }

    dataplane::WorkerShared& shared_;
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

constexpr Nanoseconds kShort = 20 * kMillisecond;

// A worker that does not answer in time may be writing its snapshot at this moment.
TEST_F(Snapshots, of_a_worker_that_does_not_answer_are_its_last_answer) {
    const appliance::Plan plan = plan_on(1);
    dataplane::WorkerShared shared;
    appliance::StatsReader reader({&shared});
    shared.snapshot.received[0] = shared.snapshot.rx[0].packets = 10;
    shared.snapshot.routes[0][0].packets = 10;
    Answering worker(shared);
    const appliance::StatsReport answered = reader.read(plan);
    EXPECT_EQ(answered.totals.received, 10U);
    EXPECT_TRUE(answered.workers[0].answering);
    worker.fall_silent();
    shared.snapshot.received[0] = shared.snapshot.rx[0].packets = 99;  // half written: ignored
    const appliance::StatsReport report = reader.read(plan, kShort);
    EXPECT_EQ(report.totals.received, 10U);
    EXPECT_EQ(report.totals.in_flight, 0U);
    EXPECT_FALSE(report.workers[0].answering);
}

// The first worker receives, the second settles. Packets that the first received since its last
// answer appear only in the second's counters.
TEST_F(Snapshots, of_a_worker_that_is_late_never_leave_fewer_received_than_settled) {
    const appliance::Plan plan = plan_on(2);
    dataplane::WorkerShared first;
    dataplane::WorkerShared second;
    appliance::StatsReader reader({&first, &second});
    first.snapshot.received[0] = first.snapshot.rx[0].packets = first.snapshot.handed_out = 10;
    second.snapshot.handed_in = second.snapshot.routes[0][0].packets = 4;
    Answering receiving(first);
    const Answering settling(second);
    const appliance::DispositionCounts before = reader.read(plan).totals;
    EXPECT_EQ(before.received, 10U);
    EXPECT_EQ(before.in_flight, 6U);
    receiving.fall_silent();
    second.snapshot.handed_in = second.snapshot.routes[0][0].packets = 17;
    const appliance::StatsReport late = reader.read(plan, 2 * kSecond);
    EXPECT_FALSE(late.workers[0].answering);
    EXPECT_TRUE(late.workers[1].answering);
    EXPECT_EQ(late.totals.forwarded, 17U);
    EXPECT_EQ(late.totals.received, 17U);
    EXPECT_EQ(late.totals.in_flight, 0U);
    EXPECT_EQ(late.routes[0].counts.in_flight, 0U);
    first.snapshot.received[0] = first.snapshot.rx[0].packets = first.snapshot.handed_out = 20;
    const Answering back(first);
    while (first.snapshot_taken.load() != first.snapshot_wanted.load()) {
        std::this_thread::yield();
    }
    const appliance::DispositionCounts after = reader.read(plan).totals;
    EXPECT_EQ(after.received, 20U);
    EXPECT_EQ(after.in_flight, 3U);
}

// A client needs ten reads for one status. If each waited an hour, this test would not end.
TEST_F(Snapshots, of_a_worker_that_hangs_are_waited_for_once) {
    const appliance::Plan plan = plan_on(1);
    dataplane::WorkerShared shared;
    appliance::StatsReader reader({&shared});
    EXPECT_FALSE(reader.read(plan, kShort).workers[0].answering);
    EXPECT_FALSE(reader.read(plan, 3600 * kSecond).workers[0].answering);
    shared.snapshot.received[0] = shared.snapshot.rx[0].packets = 3;
    shared.snapshot_taken.store(shared.snapshot_wanted.load());  // late
    const Answering back(shared);
    const appliance::StatsReport report = reader.read(plan, 3600 * kSecond);
    EXPECT_TRUE(report.workers[0].answering);
    EXPECT_EQ(report.totals.received, 3U);
}

// A read that began when the worker had just returned must not delay the end. If it waited for the
// answer, which never comes, this test would take its hour.
TEST_F(Snapshots, of_workers_that_have_returned_are_not_waited_for) {
    const appliance::Plan plan = plan_on(1);
    dataplane::WorkerShared shared;
    appliance::StatsReader reader({&shared});
    appliance::StatsReport during;
    std::thread telemetry([&] { during = reader.read(plan, 3600 * kSecond); });
    while (shared.snapshot_wanted.load() == 0) {
        std::this_thread::yield();
    }
    reader.stop_asking();
    reader.close([&] {
        shared.snapshot.received[0] = shared.snapshot.rx[0].packets =
            shared.snapshot.routes[0][0].packets = 5;
        shared.snapshot_taken.store(shared.snapshot_wanted.load());
    });
    telemetry.join();
    EXPECT_FALSE(during.workers[0].answering);
    EXPECT_EQ(during.totals.received, 0U);
    const std::uint64_t wanted = shared.snapshot_wanted.load();
    const appliance::StatsReport final_one = reader.read(plan, 3600 * kSecond);
    EXPECT_EQ(final_one.totals.received, 5U);
    EXPECT_TRUE(final_one.workers[0].answering);
    EXPECT_EQ(shared.snapshot_wanted.load(), wanted) << "nobody is asked any more";
}

// Return how often this thread gave up its CPU to wait.
long waits() {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

// Both run on one CPU, and the reader has real-time priority: it must yield.
TEST_F(Snapshots, read_at_real_time_priority_on_the_workers_cpu_leave_it_the_cpu) {
    const appliance::Plan plan = plan_on(1);
    dataplane::WorkerShared shared;
    appliance::StatsReader reader({&shared});
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(sched_getcpu()), &one);
    bool prompt_enough = true;
    std::thread control_thread([&] {
        ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
        Answering worker(shared);  // inherits the CPU
        const appliance::RealtimePriority prompt;
        prompt_enough = static_cast<bool>(prompt.status());
        const long before = waits();
        for (int i = 0; i < 3; ++i) {
            EXPECT_TRUE(reader.read(plan).workers[0].answering);
        }
        EXPECT_GE(waits() - before, 3) << "spinning on the CPU that the worker needs";
    });
    control_thread.join();
    if (!prompt_enough) {
        GTEST_SKIP() << "no real-time priority here";
    }
}

}  // namespace
}  // namespace unecho::test
