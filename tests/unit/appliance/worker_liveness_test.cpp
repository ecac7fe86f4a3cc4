// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/watchdog/worker_liveness.h"

#include <array>

#include <gtest/gtest.h>

namespace unecho::appliance {
namespace {

constexpr Nanoseconds kLook = 20 * kMillisecond;

// Two workers, sampled every kLook; the test says how they polled and received in between.
class TwoWorkers : public testing::Test {
  protected:
    std::vector<WorkerLiveness::Change> sample(std::array<std::uint64_t, 2> polls,
                                               std::array<std::uint64_t, 2> busy = {0, 0},
                                               Nanoseconds after = kLook) {
        for (std::size_t i = 0; i < 2; ++i) {
            beats_[i].polls += polls[i];
            beats_[i].busy += busy[i];
        }
        now_ += after;
        return liveness_.sample(beats_, now_);
    }

    Nanoseconds now_ = 7;
    std::array<Heartbeat, 2> beats_{};
    WorkerLiveness liveness_{2, kLook, now_};
};

TEST_F(TwoWorkers, ThatPollAndFindNothingAreIdle) {
    for (unsigned i = 1; i <= 10; ++i) {
        EXPECT_TRUE(sample({1000, 3}).empty());
        EXPECT_EQ(liveness_.idle(), i * kLook);
    }
}

TEST_F(TwoWorkers, OfWhomOneTookPacketsAreNotIdle) {
    sample({1000, 1000});
    sample({1000, 1000}, {0, 1});
    EXPECT_EQ(liveness_.idle(), 0U);
    sample({1000, 1000});
    EXPECT_EQ(liveness_.idle(), kLook);
}

// The first poll after a credited sample may have begun before the sample, so it proves nothing.
TEST_F(TwoWorkers, WithASinglePollHaveNotLooked) {
    sample({1000, 1});
    EXPECT_EQ(liveness_.idle(), 0U);
    sample({1000, 1});
    EXPECT_EQ(liveness_.idle(), kLook) << "the second one is whole";
    sample({1000, 1});
    EXPECT_EQ(liveness_.idle(), kLook) << "the first one since";
}

// On a busy machine no sample may ever find that both ran since the last one. They are idle too.
TEST_F(TwoWorkers, ThatPollInTurnsAreIdle) {
    for (unsigned i = 1; i <= 10; ++i) {
        sample({1000, 0});
        sample({0, 1000});
        EXPECT_EQ(liveness_.idle(), i * kLook);
    }
}

TEST_F(TwoWorkers, OfWhomOneTookPacketsMustBothPollAgain) {
    sample({1000, 0});
    sample({0, 1}, {0, 1});
    sample({0, 1000});
    EXPECT_EQ(liveness_.idle(), 0U) << "the first polled before the packets came";
    sample({2, 0});
    EXPECT_EQ(liveness_.idle(), kLook);
}

// While a worker does not run, packets that wait for it are invisible.
TEST_F(TwoWorkers, OfWhomOneDoesNotRunAreIdleOnlyWhileItDid) {
    sample({1000, 1000});
    for (unsigned i = 0; i < 40; ++i) {
        sample({1000, 0});
    }
    EXPECT_EQ(liveness_.idle(), kLook);
    sample({1000, 1000});
    EXPECT_EQ(liveness_.idle(), 2 * kLook);
}

TEST_F(TwoWorkers, SeenAfterALongTimeAreIdleForNoMoreThanOneLook) {
    sample({2, 2}, {0, 0}, 100 * kLook);
    EXPECT_EQ(liveness_.idle(), kLook);
    sample({2, 2}, {0, 0}, kLook / 4);
    EXPECT_EQ(liveness_.idle(), kLook + kLook / 4);
}

TEST_F(TwoWorkers, AreReportedAbsentOnceAndBackOnce) {
    std::vector<WorkerLiveness::Change> changes;
    Nanoseconds away = 0;
    for (unsigned i = 0; i < 200; ++i) {
        const std::uint64_t polls = i >= 20 && i < 120 ? 0 : 1;
        away = polls == 0 ? away + kLook : 0;
        for (const WorkerLiveness::Change change : sample({5, polls})) {
            changes.push_back(change);
            EXPECT_EQ(away, change.absent ? WorkerLiveness::kAbsence : 0);
        }
    }
    ASSERT_EQ(changes.size(), 2U);
    EXPECT_EQ(changes[0].worker, 1U);
    EXPECT_TRUE(changes[0].absent);
    EXPECT_EQ(changes[1].worker, 1U);
    EXPECT_FALSE(changes[1].absent);
}

TEST_F(TwoWorkers, OfWhomOneStandsStillForHowLongIsKnown) {
    sample({5, 5});
    EXPECT_EQ(liveness_.longest_standstill(), 0U);
    sample({5, 0});
    sample({0, 0});
    EXPECT_EQ(liveness_.standstill(0), kLook);
    EXPECT_EQ(liveness_.standstill(1), 2 * kLook);
    EXPECT_EQ(liveness_.longest_standstill(), 2 * kLook);
    sample({0, 1});
    EXPECT_EQ(liveness_.longest_standstill(), 2 * kLook);
    sample({1, 1});
    EXPECT_EQ(liveness_.longest_standstill(), 0U);
}

// The whole process stood still, and the sampling thread runs first.
TEST_F(TwoWorkers, AreNotAbsentForATimeInWhichNobodyLooked) {
    sample({5, 5});
    EXPECT_TRUE(sample({0, 0}, {0, 0}, 60 * kSecond).empty());
    EXPECT_EQ(liveness_.longest_standstill(), WorkerLiveness::kMaxBetweenLooks);
}

TEST_F(TwoWorkers, AreAbsentAfterTheTimeThatWasToldInstead) {
    liveness_ = WorkerLiveness(2, kLook, now_, 4 * kLook);
    sample({5, 5});
    for (unsigned i = 1; i <= 4; ++i) {
        EXPECT_EQ(sample({5, 0}).size(), i == 4 ? 1U : 0U);
    }
}

}  // namespace
}  // namespace unecho::appliance
