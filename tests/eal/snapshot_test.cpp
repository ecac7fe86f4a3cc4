// SPDX-License-Identifier: BSD-3-Clause
// Copies of the counters while workers poll on threads of their own: consistent at each moment, and
// complete when the workers are gone.
#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "control/stats.h"
#include "packets.h"
#include "rig.h"
#include "unit/control/plans.h"

namespace unecho::test {
namespace {

using Snapshots = EalTest;

control::Plan plan_on(unsigned workers) {
    config::Config config = control::taps_to_tool();
    std::vector<LcoreId> lcores;
    for (unsigned w = 0; w < workers; ++w) {
        lcores.push_back(w);
    }
    config.workers.lcores = lcores;
    return control::plan_of(config, control::machine_with({0, 1, 2, 3}),
                            control::all_of(config, control::device("net_null")));
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

TEST_F(Snapshots, are_taken_when_asked_for_at_the_end_of_a_poll) {
    Rig rig({});
    rig.offer(0, packet(1));
    rig.offer(0, packet(1));
    rig.poll();
    EXPECT_EQ(rig.shared().snapshot.rx[0].packets, 0U) << "nobody asked";
    rig.shared().snapshot_wanted = 7;
    rig.poll();
    EXPECT_EQ(rig.shared().snapshot_taken, 7U);
    EXPECT_EQ(rig.shared().snapshot.rx[0].packets, 2U);
    EXPECT_EQ(rig.shared().snapshot.polls, 2U);
    EXPECT_EQ(rig.shared().filters[0].insertions, 1U);
    rig.offer(0, packet(2));
    rig.poll();
    EXPECT_EQ(rig.shared().snapshot.rx[0].packets, 2U) << "answered once";
    rig.sent(2);
}

// Every copy must balance: of one worker exactly, of several but for what is on its way.
TEST_F(Snapshots, read_while_workers_poll_always_balance) {
    for (const unsigned workers : {1U, 2U}) {
        const control::Plan plan = plan_on(workers);
        Layout layout;
        layout.workers = workers;
        layout.tx_retry_cycles = std::uint64_t{1} << 40;
        Rig rig(layout);
        control::StatsReader reader(rig.shareds());
        Running running(rig, workers);
        std::uint64_t offered = 0;
        control::FateCounts last;
        std::uint64_t moving = 0;  // reads in between, or the test sees nothing
        for (unsigned round = 0; round < 300; ++round) {
            for (unsigned i = 0; i < 20; ++i, ++offered) {
                rig.offer(static_cast<PortIndex>(i % 2), packet(i / 2, round));
            }
            const control::FateCounts now = reader.read(plan).totals;
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
        const control::Report report = reader.read(plan);
        EXPECT_EQ(report.totals.received, offered);
        EXPECT_EQ(report.totals.in_flight, 0U);
        EXPECT_EQ(report.totals.forwarded + report.totals.dropped, offered);
        rig.sent(2);
    }
}

// What is still in rings and staging at the end must be in the final report.
TEST_F(Snapshots, after_the_workers_are_gone_hold_everything_to_the_end) {
    const control::Plan plan = plan_on(2);
    Layout layout;
    layout.workers = 2;
    Rig rig(layout);
    control::StatsReader reader(rig.shareds());
    unsigned flow = 0;
    while (rig.owner_of(packet(flow)) != 1) {
        ++flow;
    }
    rig.offer(0, packet(flow));
    rig.poll(0);  // now between the workers, and nobody was asked yet
    reader.close([&] {
        rig.worker(0).settle_leftovers();
        rig.worker(1).settle_leftovers();
    });
    const control::Report report = reader.read(plan);
    EXPECT_EQ(report.totals.received, 1U);
    EXPECT_EQ(report.totals.dropped, 1U);
    EXPECT_EQ(report.totals.in_flight, 0U);
    EXPECT_EQ(report.reasons[static_cast<unsigned>(Reason::kStopped)].packets, 1U);
    EXPECT_EQ(report.workers[0].handed_out, 1U);
    EXPECT_EQ(report.workers[1].handed_in, 1U);
}

// A worker that does not answer in time may be writing its snapshot this very moment.
TEST_F(Snapshots, of_a_worker_that_does_not_answer_are_its_last_answer) {
    const control::Plan plan = plan_on(1);
    dataplane::WorkerShared shared;
    control::StatsReader reader({&shared});
    std::atomic<bool> answering{true};
    std::thread worker([&] {
        while (answering.load()) {
            const std::uint64_t wanted = shared.snapshot_wanted.load();
            if (wanted != shared.snapshot_taken.load()) {
                shared.snapshot.rx[0].packets = 10;
                shared.snapshot.routes[0][0].packets = 10;
                shared.snapshot_taken.store(wanted);
            }
            std::this_thread::yield();
        }
    });
    EXPECT_EQ(reader.read(plan).totals.received, 10U);
    answering.store(false);
    worker.join();
    shared.snapshot.rx[0].packets = 99;  // half written: not taken
    const control::Report report = reader.read(plan);
    EXPECT_EQ(report.totals.received, 10U);
    EXPECT_EQ(report.totals.in_flight, 0U);
}

}  // namespace
}  // namespace unecho::test
