// SPDX-License-Identifier: BSD-3-Clause
#include "control/attendance.h"

#include <array>

#include <gtest/gtest.h>

namespace unecho::control {
namespace {

constexpr Nanoseconds kLook = 20 * kMillisecond;

// Two workers, a look every kLook; polls and packets between looks are the test's.
class TwoWorkers : public testing::Test {
  protected:
    std::vector<Attendance::Change> look(std::array<std::uint64_t, 2> polls,
                                         std::array<std::uint64_t, 2> busy = {0, 0},
                                         Nanoseconds after = kLook) {
        for (std::size_t i = 0; i < 2; ++i) {
            beats_[i].polls += polls[i];
            beats_[i].busy += busy[i];
        }
        now_ += after;
        return attendance_.look(beats_, now_);
    }

    Nanoseconds now_ = 7;
    std::array<Beat, 2> beats_{};
    Attendance attendance_{2, kLook, now_};
};

TEST_F(TwoWorkers, ThatPollAndFindNothingAreIdle) {
    for (unsigned i = 1; i <= 10; ++i) {
        EXPECT_TRUE(look({1000, 3}).empty());
        EXPECT_EQ(attendance_.idle(), i * kLook);
    }
}

TEST_F(TwoWorkers, OfWhomOneTookPacketsAreNotIdle) {
    look({1000, 1000});
    look({1000, 1000}, {0, 1});
    EXPECT_EQ(attendance_.idle(), 0U);
    look({1000, 1000});
    EXPECT_EQ(attendance_.idle(), kLook);
}

// What waits for a worker that does not run is not seen by anyone.
TEST_F(TwoWorkers, OfWhomOneDoesNotRunAreIdleOnlyWhileItDid) {
    look({1000, 1000});
    for (unsigned i = 0; i < 40; ++i) {
        look({1000, 0});
    }
    EXPECT_EQ(attendance_.idle(), kLook);
    look({1000, 1000});
    EXPECT_EQ(attendance_.idle(), 2 * kLook);
}

// The first poll after a credited look may have begun before it: before what came since.
TEST_F(TwoWorkers, WithASinglePollHaveNotLooked) {
    look({1000, 1});
    EXPECT_EQ(attendance_.idle(), 0U);
    look({1000, 1});
    EXPECT_EQ(attendance_.idle(), kLook) << "the second one is whole";
    look({1000, 1});
    EXPECT_EQ(attendance_.idle(), kLook) << "the first one since";
}

// So do they on a busy machine, where no look may ever find that both ran since the one before.
TEST_F(TwoWorkers, ThatPollInTurnsAreIdle) {
    for (unsigned i = 1; i <= 10; ++i) {
        look({1000, 0});
        look({0, 1000});
        EXPECT_EQ(attendance_.idle(), i * kLook);
    }
}

TEST_F(TwoWorkers, OfWhomOneTookPacketsMustBothPollAgain) {
    look({1000, 0});
    look({0, 1}, {0, 1});
    look({0, 1000});
    EXPECT_EQ(attendance_.idle(), 0U) << "the first polled before the packets came";
    look({2, 0});
    EXPECT_EQ(attendance_.idle(), kLook);
}

TEST_F(TwoWorkers, SeenAfterALongTimeAreIdleForNoMoreThanOneLook) {
    look({2, 2}, {0, 0}, 100 * kLook);
    EXPECT_EQ(attendance_.idle(), kLook);
    look({2, 2}, {0, 0}, kLook / 4);
    EXPECT_EQ(attendance_.idle(), kLook + kLook / 4);
}

TEST_F(TwoWorkers, AreReportedAbsentOnceAndBackOnce) {
    std::vector<Attendance::Change> changes;
    Nanoseconds away = 0;
    for (unsigned i = 0; i < 200; ++i) {
        const std::uint64_t polls = i >= 20 && i < 120 ? 0 : 1;
        away = polls == 0 ? away + kLook : 0;
        for (const Attendance::Change change : look({5, polls})) {
            changes.push_back(change);
            EXPECT_EQ(away, change.absent ? Attendance::kAbsence : 0);
        }
    }
    ASSERT_EQ(changes.size(), 2U);
    EXPECT_EQ(changes[0].worker, 1U);
    EXPECT_TRUE(changes[0].absent);
    EXPECT_EQ(changes[1].worker, 1U);
    EXPECT_FALSE(changes[1].absent);
}

TEST_F(TwoWorkers, OfWhomOneStandsStillForHowLongIsKnown) {
    look({5, 5});
    EXPECT_EQ(attendance_.longest_standstill(), 0U);
    look({5, 0});
    look({0, 0});
    EXPECT_EQ(attendance_.standstill(0), kLook);
    EXPECT_EQ(attendance_.standstill(1), 2 * kLook);
    EXPECT_EQ(attendance_.longest_standstill(), 2 * kLook);
    look({0, 1});
    EXPECT_EQ(attendance_.longest_standstill(), 2 * kLook);
    look({1, 1});
    EXPECT_EQ(attendance_.longest_standstill(), 0U);
}

// All of the process stood still, and the one that looks runs first.
TEST_F(TwoWorkers, AreNotAbsentForATimeInWhichNobodyLooked) {
    look({5, 5});
    EXPECT_TRUE(look({0, 0}, {0, 0}, 60 * kSecond).empty());
    EXPECT_EQ(attendance_.longest_standstill(), Attendance::kMostBetweenLooks);
}

TEST_F(TwoWorkers, AreAbsentAfterTheTimeThatWasToldInstead) {
    attendance_ = Attendance(2, kLook, now_, 4 * kLook);
    look({5, 5});
    for (unsigned i = 1; i <= 4; ++i) {
        EXPECT_EQ(look({5, 0}).size(), i == 4 ? 1U : 0U);
    }
}

}  // namespace
}  // namespace unecho::control
