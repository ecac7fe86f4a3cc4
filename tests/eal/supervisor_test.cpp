// SPDX-License-Identifier: BSD-3-Clause
// Appliance and supervisor in this process, as `unecho run` has them: a worker cannot start, hangs,
// or has packets left at the end. A worker hangs inside its port's receive function, where the
// test's callback holds it; packets come from the same callback. This thread is the control thread.
// A test's script runs on another thread.
#include "appliance/supervisor.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_mempool.h>

#include "appliance/timers/sleep_backoff.h"
#include "appliance/timers/tsc_rate.h"
#include "base/os/clock.h"
#include "packets.h"
#include "unit/appliance/plans.h"

namespace unecho::test {
namespace {

using appliance::sleep_for;
using pipeline::Reason;

constexpr Nanoseconds kShort = 20 * kMillisecond;

void wait_until(const std::function<bool()>& condition) {
    while (!condition()) {
        sleep_for(100 * kMicrosecond);
    }
}

// Behaviour of a port's receive function in a test.
struct Receiver {
    std::atomic<bool> hold{false};
    std::atomic<bool> held{false};
    std::atomic<unsigned> feed{0};  // packets to bring, each of its own flow
    rte_mempool* pool = nullptr;

    static std::uint16_t receive(std::uint16_t, std::uint16_t, rte_mbuf** mbufs, std::uint16_t n,
                                 std::uint16_t room, void* context) {
        auto& self = *static_cast<Receiver*>(context);
        while (self.hold.load()) {
            self.held.store(true);
            sleep_for(100 * kMicrosecond);
        }
        self.held.store(false);
        for (; n < room && self.feed.load() != 0; ++n) {
            const Bytes bytes = packet(self.feed.fetch_sub(1));
            rte_mbuf* mbuf = rte_pktmbuf_alloc(self.pool);
            std::memcpy(rte_pktmbuf_append(mbuf, static_cast<std::uint16_t>(bytes.size())),
                        bytes.data(), bytes.size());
            mbufs[n] = mbuf;
        }
        return n;
    }
};

// Two taps, one for each worker, with rings between the workers. DPDK can be initialised once a
// process, so all tests run one appliance again.
class TwoWorkers : public testing::Test {
  protected:
    static constexpr unsigned kPackets = 200;

    static void SetUpTestSuite() {
        const std::vector<LcoreId> cpus = appliance::Machine::detect().cpus;
        if (cpus.size() < 2) {
            return;
        }
        config::Config config = appliance::taps_to_tool();
        for (config::Port& port : config.ports) {
            port.device += ",no-rx=1";
        }
        config.eal.args = {"--no-huge", "--no-shconf", "-m", "256", "--no-telemetry"};
        config.filters[0].rate = 1e5;
        config.workers.lcores = {{cpus[0], cpus[1]}};  // the control thread shares one of them
        config.control.drain_timeout = kShort;
        auto built = appliance::Appliance::build(config, {});
        ASSERT_TRUE(built) << built.error().context;
        appliance_ = std::move(*built);
        config_ = config;
        for (std::size_t i = 0; i < 2; ++i) {
            receivers_[i].pool = rte_mempool_lookup("unecho_mbufs");
            ASSERT_NE(rte_eth_add_rx_callback(appliance_->ports()[i].id(), 0, Receiver::receive,
                                              &receivers_[i]),
                      nullptr);
        }
    }
    static void TearDownTestSuite() { appliance_.reset(); }

    void SetUp() override {
        if (appliance_ == nullptr) {
            GTEST_SKIP() << "two workers need two CPUs";
        }
    }

    // Run the supervisor on this thread and the script on another. The script sets stop_.
    void run(const std::function<void(appliance::Supervisor&)>& script) {
        appliance::Supervisor supervisor(*appliance_, config_,
                                         [this](const LogLine& line) { log_ += line.text + "\n"; });
        std::thread beside([&] { script(supervisor); });
        const auto report = supervisor.run(stop_);
        ended_ = true;
        beside.join();
        ASSERT_TRUE(report) << report.error().context;
        report_ = *report;
    }

    // Hang the second worker once its counters are known.
    static void hold_the_second(appliance::Supervisor& supervisor) {
        wait_until([&] { return supervisor.report(kShort).workers[1].answering; });
        receivers_[1].hold = true;
        wait_until([] { return receivers_[1].held.load(); });
    }
    // Return how many packets the first worker has received, by its own counters.
    static std::uint64_t received(appliance::Supervisor& supervisor) {
        return supervisor.report(kShort).ports[0].rx.packets;
    }
    [[nodiscard]] std::uint64_t count(Reason reason) const {
        return report_.reasons[static_cast<unsigned>(reason)].packets;
    }
    static LcoreId lcore(std::size_t worker) { return appliance_->plan().workers[worker].lcore; }

    static inline std::unique_ptr<appliance::Appliance> appliance_;
    static inline config::Config config_;
    static inline std::array<Receiver, 2> receivers_;
    std::atomic<bool> stop_{false};
    std::atomic<bool> ended_{false};
    std::string log_;
    appliance::StatsReport report_;
};

TEST_F(TwoWorkers, of_whom_one_cannot_be_launched_say_which_and_leave_none_running) {
    std::atomic<bool> occupied{true};
    const auto occupy = [](void* flag) {
        wait_until([&] { return !static_cast<std::atomic<bool>*>(flag)->load(); });
        return 0;
    };
    ASSERT_EQ(rte_eal_remote_launch(occupy, &occupied, lcore(1)), 0);
    appliance::Supervisor supervisor(*appliance_, config_, [](const LogLine&) {});
    const auto report = supervisor.run(stop_);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, Errc::kIo);
    EXPECT_EQ(report.error().context, "worker 1 on lcore " + std::to_string(lcore(1)) +
                                          " could not be launched: Device or resource busy");
    EXPECT_EQ(rte_eal_get_lcore_state(lcore(0)), WAIT);
    EXPECT_EQ(supervisor.report().totals.in_flight, 0U) << "nobody is asked in vain";
    EXPECT_TRUE(occupied.load());
    occupied.store(false);
    rte_eal_wait_lcore(lcore(1));
}

TEST_F(TwoWorkers, of_whom_one_stands_still_are_reported_as_they_are) {
    run([this](appliance::Supervisor& supervisor) {
        hold_the_second(supervisor);
        const std::uint64_t before = received(supervisor);
        receivers_[0].feed = kPackets;
        wait_until([&] { return received(supervisor) == before + kPackets; });
        const appliance::StatsReport still = supervisor.report(kShort);
        EXPECT_TRUE(still.workers[0].answering);
        EXPECT_FALSE(still.workers[1].answering);
        const appliance::DispositionCounts& totals = still.totals;
        EXPECT_GT(totals.in_flight, 0U);
        EXPECT_EQ(totals.received,
                  totals.forwarded + totals.diverted + totals.dropped + totals.in_flight);
        receivers_[1].hold = false;
        wait_until([&] {
            const appliance::StatsReport report = supervisor.report();
            return report.workers[1].answering && report.totals.in_flight == 0;
        });
        stop_ = true;
    });
    EXPECT_EQ(count(Reason::kStopped), 0U);
    EXPECT_EQ(report_.totals.in_flight, 0U);
}

// Packets in a ring to a hung worker are counted exactly. Released when all is over, it ends its
// poll, with at most one burst.
TEST_F(TwoWorkers, of_whom_one_stands_still_at_the_end_count_what_was_between_them) {
    appliance::DispositionCounts then;
    run([&](appliance::Supervisor& supervisor) {
        hold_the_second(supervisor);
        const std::uint64_t before = received(supervisor);
        receivers_[0].feed = kPackets;
        wait_until([&] { return received(supervisor) == before + kPackets; });
        then = supervisor.report(kShort).totals;
        stop_ = true;
        const auto& phase = appliance_->shared(1).phase;
        wait_until([&] { return phase.load() == dataplane::Phase::kStopped; });
        receivers_[1].hold = false;
    });
    const appliance::DispositionCounts& totals = report_.totals;
    ASSERT_GT(then.in_flight, config_.workers.burst);
    EXPECT_EQ(totals.forwarded + totals.dropped - then.forwarded - then.dropped, then.in_flight);
    EXPECT_EQ(totals.received, then.received);
    EXPECT_EQ(totals.in_flight, 0U);
    EXPECT_LE(count(Reason::kStopped), then.in_flight);
    EXPECT_GE(count(Reason::kStopped), then.in_flight - config_.workers.burst);
    EXPECT_NE(log_.find("worker 1 on lcore " + std::to_string(lcore(1)) + " does not answer; "),
              std::string::npos)
        << log_;
    EXPECT_NE(log_.find("they are counted as \"stopped\""), std::string::npos) << log_;
}

// The record names the stage and has the time by both clocks: the worker has time to spare.
TEST_F(TwoWorkers, of_whom_one_was_held_up_say_so) {
    const std::uint64_t before = unix_now();
    run([this](appliance::Supervisor& supervisor) {
        hold_the_second(supervisor);
        sleep_for(5 * kShort);
        receivers_[1].hold = false;
        wait_until([&] {
            const auto log = supervisor.report().workers[1].stall_log;
            return std::any_of(log.begin(), log.end(), [](const appliance::StallRecord& record) {
                return record.stall.took >= 5 * kShort;
            });
        });
        stop_ = true;
    });
    const auto& log = report_.workers[1].stall_log;
    const auto longest = std::max_element(log.begin(), log.end(), [](const auto& a, const auto& b) {
        return a.stall.took < b.stall.took;
    });
    ASSERT_NE(longest, log.end());
    EXPECT_EQ(longest->stall.stage, dataplane::Stage::kReceive);
    EXPECT_EQ(longest->stall.packets, 0U);
    EXPECT_EQ(longest->lost, 0U);
    EXPECT_GE(longest->unix_ns, before);
    EXPECT_LE(longest->unix_ns + longest->stall.took, unix_now());
    EXPECT_GE(report_.workers[1].stalls, log.size());
    EXPECT_GE(report_.workers[1].idle + report_.workers[1].busy, longest->stall.took);
    // Log lines are rate-limited, so the line may be of either stall.
    EXPECT_NE(log_.find(" was held up for "), std::string::npos) << log_;
    EXPECT_EQ(report_.events.front().kind, appliance::event::kStart);
    EXPECT_TRUE(std::any_of(report_.events.begin(), report_.events.end(),
                            [](const auto& e) { return e.kind == appliance::event::kStall; }));
}

// The clock never makes the window shorter, whatever rate DPDK assumed for the TSC.
TEST_F(TwoWorkers, judge_by_a_clock_that_is_never_fast) {
    const dataplane::TscClock& clock = appliance_->clock();
    const Nanoseconds before = appliance::read_clocks().time;
    const Nanoseconds begin = clock.at(rte_rdtsc());
    sleep_for(kShort);
    const Nanoseconds end = clock.at(rte_rdtsc());
    const Nanoseconds after = appliance::read_clocks().time;
    EXPECT_LE(end - begin, after - before + 1);
}

// A hung worker may find packets as soon as it runs again.
TEST_F(TwoWorkers, of_whom_one_stands_still_are_not_idle) {
    config_.run.stop_when_idle = kShort;
    receivers_[1].hold = true;
    run([this](appliance::Supervisor&) {
        wait_until([] { return receivers_[1].held.load(); });
        sleep_for(5 * kShort);
        EXPECT_FALSE(ended_.load());
        receivers_[1].feed = kPackets;
        receivers_[1].hold = false;
    });
    config_.run.stop_when_idle.reset();
    EXPECT_EQ(receivers_[1].feed.load(), 0U);
    EXPECT_EQ(report_.totals.in_flight, 0U);
}

}  // namespace
}  // namespace unecho::test
