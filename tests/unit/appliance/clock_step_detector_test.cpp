// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/timers/clock_step_detector.h"

#include <gtest/gtest.h>

namespace unecho::appliance {
namespace {

constexpr std::uint64_t kToday = 1'700'000'000 * kSecond;

class Clocks : public testing::Test {
  protected:
    // Let time pass on both clocks, and return the message if there is one.
    std::string sample(Nanoseconds time, Nanoseconds between = 100) {
        own_ += time;
        const auto said = watch_.sample(own_, own_ + offset_, own_ + between);
        return said.value_or("");
    }

    Nanoseconds own_ = 5 * kSecond;
    std::uint64_t offset_ = kToday;
    ClockStepDetector watch_;
};

TEST_F(Clocks, that_go_alike_say_nothing) {
    for (unsigned i = 0; i < 1000; ++i) {
        offset_ += 250 * kMicrosecond;  // slewed at the maximum rate, 500 ppm
        EXPECT_EQ(sample(500 * kMillisecond), "");
    }
}

TEST_F(Clocks, of_which_one_is_set_say_so_once) {
    sample(0);
    offset_ += 3 * kSecond;
    EXPECT_EQ(sample(kSecond), "the system's clock was set forward by 3 s");
    EXPECT_EQ(sample(kSecond), "");
    offset_ -= 3600 * kSecond;
    EXPECT_EQ(sample(kSecond), "the system's clock was set back by 3600 s");
    EXPECT_EQ(sample(kSecond), "");
    offset_ += ClockStepDetector::kStep;
    EXPECT_EQ(sample(kSecond), "");
    offset_ += ClockStepDetector::kStep + 1;
    EXPECT_NE(sample(kSecond), "");
}

// The thread was stopped between two readings, so their difference is no step.
TEST_F(Clocks, that_are_read_far_apart_are_not_compared) {
    sample(0);
    offset_ += 300 * kMillisecond;
    EXPECT_EQ(sample(kSecond, 300 * kMillisecond), "");
    offset_ -= 300 * kMillisecond;
    EXPECT_EQ(sample(kSecond), "");
}

}  // namespace
}  // namespace unecho::appliance
