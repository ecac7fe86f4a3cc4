// SPDX-License-Identifier: BSD-3-Clause
#include "filters/window/timers.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "support/filter_memory.h"

namespace unecho::filter::timers_test {
namespace {

struct Instance {
    explicit Instance(const TimersGeometry& geometry)
        : memory(geometry.bytes()), timers(geometry, memory.span()) {}
    test::FilterMemory memory;
    Timers timers;
};

TEST(timers, bytes_are_whole_lines_and_hold_the_last_read) {
    EXPECT_EQ((TimersGeometry{.m = 1, .bits = 2}.bytes()), 128u);
    EXPECT_EQ((TimersGeometry{.m = 122, .bits = 4}.bytes()), 128u);
    EXPECT_EQ((TimersGeometry{.m = 123, .bits = 4}.bytes()), 192u);
    EXPECT_EQ((TimersGeometry{.m = 1000, .bits = 16}.bytes()), 2112u);
}

TEST(timers, zeroed_memory_is_all_expired) {
    Instance i({.m = 100, .bits = 3, .kept = 2});
    for (std::uint64_t t = 0; t < 100; ++t) {
        EXPECT_EQ(i.timers.age(t), kExpiredAge);
    }
}

// For every width and initial block number, ages up to numbers() - 1 are exact.
TEST(timers, age_counts_turns_across_the_wrap) {
    for (unsigned bits = kMinTimerBits; bits <= 8; ++bits) {
        Instance i({.m = 3, .bits = bits, .kept = 1});
        const unsigned numbers = (1U << bits) - 1;
        for (unsigned start = 0; start < numbers + 1; ++start) {
            i.timers.write(1);
            for (unsigned age = 0; age < numbers; ++age) {
                ASSERT_EQ(i.timers.age(1), age) << bits << " bits from " << start;
                i.timers.turn(1);
            }
            i.timers.write(1);
            i.timers.turn(numbers - 1);
            ASSERT_EQ(i.timers.age(1), numbers - 1);
        }
    }
}

TEST(timers, packing_keeps_neighbours_apart) {
    std::mt19937_64 random(1);
    for (unsigned bits = kMinTimerBits; bits <= kMaxTimerBits; ++bits) {
        constexpr std::uint64_t kTimers = 131;
        const unsigned kept = (1U << bits) - 3;
        Instance i({.m = kTimers, .bits = bits, .kept = kept});
        std::vector<unsigned> ages(kTimers, kExpiredAge);
        for (unsigned step = 0; step < 5000; ++step) {
            const std::uint64_t index = random() % kTimers;
            i.timers.write(index);
            ages[index] = 0;
            if (step % 7 == 0) {
                i.timers.turn(1);
                i.timers.sweep(kTimers, 0);
                for (unsigned& age : ages) {
                    age = age == kExpiredAge || age + 1 > kept ? kExpiredAge : age + 1;
                }
            }
            const std::uint64_t asked = random() % kTimers;
            ASSERT_EQ(i.timers.age(asked), ages[asked]) << bits << " bits, step " << step;
        }
        for (std::uint64_t t = 0; t < kTimers; ++t) {
            ASSERT_EQ(i.timers.age(t), ages[t]) << bits << " bits";
        }
    }
}

TEST(timers, sweep_expires_what_is_older_than_kept_and_goes_round) {
    Instance i({.m = 10, .bits = 4, .kept = 3});
    for (std::uint64_t t = 0; t < 10; ++t) {
        i.timers.write(t);
    }
    i.timers.turn(3);
    i.timers.sweep(10, 0);
    EXPECT_EQ(i.timers.age(4), 3u);
    i.timers.turn(1);
    i.timers.sweep(7, 0);
    EXPECT_EQ(i.timers.age(6), kExpiredAge);
    EXPECT_EQ(i.timers.age(7), 4u);
    i.timers.write(0);
    i.timers.write(1);
    i.timers.sweep(4, 0);
    EXPECT_EQ(i.timers.age(9), kExpiredAge);
    EXPECT_EQ(i.timers.age(0), 0u);
    i.timers.sweep(1, 4);
    EXPECT_EQ(i.timers.age(0), 0u);
    EXPECT_EQ(i.timers.age(1), kExpiredAge);
    i.timers.sweep(9, 3);
    EXPECT_EQ(i.timers.age(0), 0u);
}

TEST(timers, clear_expires_all_and_keeps_the_block) {
    Instance i({.m = 5, .bits = 2, .kept = 0});
    i.timers.turn(2);
    i.timers.write(4);
    i.timers.clear();
    EXPECT_EQ(i.timers.age(4), kExpiredAge);
    i.timers.write(4);
    i.timers.turn(1);
    EXPECT_EQ(i.timers.age(4), 1u);
}

}  // namespace
}  // namespace unecho::filter::timers_test
