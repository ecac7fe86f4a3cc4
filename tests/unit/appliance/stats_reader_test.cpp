// SPDX-License-Identifier: BSD-3-Clause
// How long a report waits for workers, on simulated time. The linker replaces clock_gettime (--wrap
// in meson.build), because the time that passes must not depend on the machine.
#include <ctime>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "appliance/stats/stats.h"
#include "unit/appliance/plans.h"

namespace {

std::function<unecho::Nanoseconds()> simulated_time;  // empty: the system's

}  // namespace

extern "C" int __real_clock_gettime(clockid_t clock, timespec* time);
extern "C" int __wrap_clock_gettime(clockid_t clock, timespec* time) {
    if (!simulated_time) {
        return __real_clock_gettime(clock, time);
    }
    const unecho::Nanoseconds now = simulated_time();
    *time = {static_cast<time_t>(now / unecho::kSecond), static_cast<long>(now % unecho::kSecond)};
    return 0;
}

namespace unecho::appliance {
namespace {

constexpr Nanoseconds kStep = 10 * kMillisecond;

class SimulatedWorkers : public testing::Test {
  protected:
    SimulatedWorkers() {
        simulated_time = [this] {
            time_ += kStep;
            act();
            return time_;
        };
    }
    ~SimulatedWorkers() override { simulated_time = nullptr; }

    static void answer(dataplane::WorkerShared& worker) {
        worker.snapshot_taken.store(worker.snapshot_wanted.load());
    }
    static Plan two_workers() {
        config::Config config = taps_to_tool();
        config.workers.lcores = std::vector<LcoreId>{0, 1};
        return plan_of(config, machine_with({0, 1, 2, 3}), all_of(config, device("net_null")));
    }

    std::function<void()> act = [] {};  // what the workers do at each reading of the clock
    Nanoseconds time_ = kSecond;
    dataplane::WorkerShared first_;
    dataplane::WorkerShared second_;
    StatsReader reader_{std::vector<dataplane::WorkerShared*>{&first_, &second_}};
};

TEST_F(SimulatedWorkers, that_answer_late_and_then_hang_delay_a_report_by_its_patience_at_most) {
    const Nanoseconds begin = time_;
    act = [&] {
        answer(second_);
        if (first_.snapshot_wanted.load() == 1 && time_ >= begin + 700 * kMillisecond) {
            answer(first_);
        }
    };
    const StatsReport report = reader_.read(two_workers(), kSecond);
    EXPECT_FALSE(report.workers[0].answering);
    EXPECT_TRUE(report.workers[1].answering);
    EXPECT_EQ(first_.snapshot_wanted.load(), 2U);
    EXPECT_LE(time_, begin + kSecond + 4 * kStep) << "the clock is read that often besides";
}

TEST_F(SimulatedWorkers, that_hang_leave_the_others_time_for_the_second_reading) {
    const Nanoseconds begin = time_;
    Nanoseconds asked_again = 0;
    act = [&] {
        asked_again = asked_again == 0 && second_.snapshot_wanted.load() == 2 ? time_ : asked_again;
        // The second worker takes a tenth of a second for its second answer.
        if (asked_again == 0 || time_ >= asked_again + 100 * kMillisecond) {
            answer(second_);
        }
    };
    const StatsReport report = reader_.read(two_workers(), kSecond);
    EXPECT_FALSE(report.workers[0].answering);
    EXPECT_TRUE(report.workers[1].answering);
    EXPECT_LE(time_, begin + kSecond + 4 * kStep);
}

}  // namespace
}  // namespace unecho::appliance
