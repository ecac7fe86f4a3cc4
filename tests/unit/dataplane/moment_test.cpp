// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/moment.h"

#include <vector>

#include <gtest/gtest.h>

namespace unecho::dataplane {
namespace {

TEST(ReadMoment, with_a_word_at_rest_reads_the_clock_once) {
    FilterShared shared;
    shared.generation = 7;
    unsigned reads = 0;
    const filter::Moment moment = read_moment(shared, [&] { return 100 + ++reads; });
    EXPECT_EQ(reads, 1U);
    EXPECT_EQ(moment.now, 101U);
    EXPECT_EQ(moment.generation, 7U);
}

// A packet at that time under the word read first would be filed under a generation that ended
// before.
TEST(ReadMoment, when_the_word_turns_around_the_clock_takes_the_later_word_and_time) {
    FilterShared shared;
    shared.generation = 7;
    Nanoseconds now = 1000;
    const filter::Moment moment = read_moment(shared, [&] {
        if (shared.generation < 10) {
            ++shared.generation;
        }
        return ++now;
    });
    EXPECT_EQ(moment.generation, 10U);
    EXPECT_EQ(moment.now, 1004U);
}

TEST(ReadMoment, when_the_word_turns_before_the_clock_is_read_skips_to_it) {
    FilterShared shared;
    shared.generation = 1;
    bool stalled = false;
    const filter::Moment moment = read_moment(shared, [&]() -> Nanoseconds {
        if (!stalled) {
            stalled = true;
            shared.generation = 5;  // several at once: the worker was away
        }
        return 42;
    });
    EXPECT_EQ(moment.generation, 5U);
    EXPECT_EQ(moment.now, 42U);
}

}  // namespace
}  // namespace unecho::dataplane
