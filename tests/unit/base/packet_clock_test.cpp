// SPDX-License-Identifier: BSD-3-Clause
#include "base/packet_clock.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace unecho {
namespace {

std::vector<Nanoseconds> times_of(PacketClock clock, const std::vector<Nanoseconds>& stamps) {
    std::vector<Nanoseconds> out;
    for (const Nanoseconds stamp : stamps) {
        out.push_back(clock.at(stamp));
    }
    return out;
}

using Times = std::vector<Nanoseconds>;

TEST(PacketClock, goes_on_from_a_step_that_is_longer) {
    EXPECT_EQ(times_of(PacketClock(100), {1000, 899, 909, 850, 910, 2000}),
              (Times{1000, 1000, 1010, 1010, 1011, 2101}));
    PacketClock clock(100);
    for (const Nanoseconds stamp : {5000, 4899, 100, 50}) {
        clock.at(stamp);
    }
    EXPECT_EQ(clock.epochs(), 2U);
    EXPECT_EQ(clock.last_step(), 4799U);
    EXPECT_EQ(clock.elapsed(), 0U);
}

TEST(PacketClock, without_a_window_knows_no_epochs) {
    EXPECT_EQ(times_of(PacketClock(), {kSecond, 0, 2 * kSecond}),
              (Times{kSecond, kSecond, 2 * kSecond}));
    EXPECT_EQ(PacketClock::for_window(kNoEpochs).epochs(), 0U);
    EXPECT_EQ(times_of(PacketClock::for_window(kNoEpochs), {kNoEpochs / 4, 0, kNoEpochs}),
              (Times{kNoEpochs / 4, kNoEpochs / 4, kNoEpochs}));
}

TEST(PacketClock, jump_is_the_window_or_a_second) {
    EXPECT_EQ(epoch_jump(50 * kMillisecond), kSecond);
    EXPECT_EQ(epoch_jump(3 * kSecond), 3 * kSecond);
}

// By definition, an epoch shifts the times of everything remembered.
TEST(PacketClock, ages_are_those_of_remembered_times_that_are_shifted) {
    std::mt19937_64 random(1);
    constexpr Nanoseconds kEpochJump = 1000;
    for (int round = 0; round < 50; ++round) {
        PacketClock clock(kEpochJump);
        std::int64_t now = 1'000'000;
        std::int64_t stamp = now;
        std::vector<std::int64_t> remembered;
        std::vector<Nanoseconds> given;
        for (int i = 0; i < 100; ++i) {
            const std::int64_t step = now - stamp;
            if (step > static_cast<std::int64_t>(kEpochJump)) {
                for (std::int64_t& time : remembered) {
                    time -= step;
                }
                now = stamp;
            }
            now = std::max(now, stamp);
            remembered.push_back(now);
            given.push_back(clock.at(static_cast<Nanoseconds>(stamp)));
            for (std::size_t j = 0; j < given.size(); ++j) {
                ASSERT_EQ(given.back() - given[j], static_cast<Nanoseconds>(now - remembered[j]));
            }
            const std::int64_t far = random() % 4 == 0 ? 5000 : 600;
            stamp += static_cast<std::int64_t>(random() % 2000) - far;
            stamp =
                random() % 8 == 0 ? now - 1000 - static_cast<std::int64_t>(random() % 2) : stamp;
        }
    }
}

// The clocks of two interfaces are decades apart, packet by packet. Every step forward makes all
// remembered packets old, and 64 bits suffice.
TEST(PacketClock, outlives_steps_of_decades) {
    for (const Nanoseconds first : {Nanoseconds{0}, kNoEpochs}) {
        PacketClock clock = PacketClock::for_window(50 * kMillisecond);
        Nanoseconds before = clock.at(first);
        for (int i = 0; i < 10'000; ++i) {
            const Nanoseconds back = clock.at(0);
            ASSERT_EQ(back, before);
            before = clock.at(4'000'000'000 * kSecond);
            ASSERT_GE(before - back, 100 * kSecond);
        }
        EXPECT_GE(clock.epochs(), 9'999U);
    }
}

TEST(PacketClock, elapsed_is_every_step_forward_in_full) {
    PacketClock clock = PacketClock::for_window(kMillisecond);
    for (const Nanoseconds seconds : {4000, 7600, 4000, 4001, 4000}) {
        clock.at(seconds * kSecond);
    }
    EXPECT_EQ(clock.elapsed(), 3601 * kSecond);
}

}  // namespace
}  // namespace unecho
