// SPDX-License-Identifier: BSD-3-Clause
#include "filters/window/timers.h"

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
