// SPDX-License-Identifier: BSD-3-Clause
#include "filters/window/exact.h"

#include <gtest/gtest.h>

#include "support/instance.h"

namespace unecho::filter::exact_test {
namespace {

using Instance = test::FilterInstance<Exact>;

std::string message(const ExactSpec& spec) {
    return test::message<ExactParams>(spec);
}

TEST(exact_params, limits_are_named) {
    EXPECT_EQ(message({.entries = 1, .window = 1}), "valid");
    EXPECT_EQ(message({.entries = kMaxExactEntries, .window = kInfiniteWindow}), "valid");
    EXPECT_EQ(message({.entries = 0, .window = 1}), "exact: entries = 0; allowed: 1 to 2147483648");
    EXPECT_EQ(message({.entries = kMaxExactEntries + 1, .window = 1}),
              "exact: entries = 2147483649; allowed: 1 to 2147483648");
    EXPECT_EQ(message({.entries = 1, .window = 0}), "exact: window = 0; allowed: 1 ns or more");
}

TEST(exact_params, bytes_hold_buckets_and_entries) {
    const auto bytes = [](std::uint64_t entries) {
        return Exact::bytes(*ExactParams::make({.entries = entries, .window = 1}));
    };
    EXPECT_EQ(bytes(1), 64u + 64);
    EXPECT_EQ(bytes(8), 64u + 9 * 32 + 32);
    EXPECT_EQ(bytes(9), 128u + 10 * 32);
}

TEST(exact, age_of_the_window_is_outside) {
    Instance i({.entries = 8, .window = 100});
    i.filter.advance({.now = 1000});
    EXPECT_FALSE(i.filter.test_and_insert(42));
    EXPECT_TRUE(i.filter.test_and_insert(42));
    i.filter.advance({.now = 1099});
    EXPECT_TRUE(i.filter.test_and_insert(42));
    i.filter.advance({.now = 1100});
    EXPECT_FALSE(i.filter.test_and_insert(42));
    i.filter.advance({.now = 1199});
    EXPECT_TRUE(i.filter.test_and_insert(42));
}

TEST(exact, infinite_window_never_expires) {
    Instance i({.entries = 8, .window = kInfiniteWindow});
    EXPECT_FALSE(i.filter.test_and_insert(42));
    i.filter.advance({.now = kInfiniteWindow});
    EXPECT_TRUE(i.filter.test_and_insert(42));
}

TEST(exact, full_table_gives_up_the_oldest_and_counts_it) {
    Instance i({.entries = 4, .window = 1000});
    for (Digest digest = 1; digest <= 4; ++digest) {
        i.filter.advance({.now = digest});
        EXPECT_FALSE(i.filter.test_and_insert(digest));
    }
    EXPECT_EQ(i.filter.counters().evicted_early, 0u);
    EXPECT_FALSE(i.filter.test_and_insert(5));
    EXPECT_EQ(i.filter.counters().evicted_early, 1u);
    for (Digest digest = 2; digest <= 5; ++digest) {
        EXPECT_TRUE(i.filter.test_and_insert(digest)) << digest;
    }
    EXPECT_FALSE(i.filter.test_and_insert(1));
    EXPECT_FALSE(i.filter.test_and_insert(2));
    EXPECT_EQ(i.filter.counters().evicted_early, 3u);
}

TEST(exact, refreshed_entry_is_not_the_oldest) {
    Instance i({.entries = 3, .window = 1000, .policy = EchoPolicy::kRefresh});
    for (const Digest digest : {1, 2, 3, 1, 2}) {
        i.filter.test_and_insert(digest);
    }
    EXPECT_FALSE(i.filter.test_and_insert(4));
    EXPECT_TRUE(i.filter.test_and_insert(1));
    EXPECT_TRUE(i.filter.test_and_insert(2));
    EXPECT_FALSE(i.filter.test_and_insert(3));
}

// Many echoes of one digest under `refresh` take no entries from others.
TEST(exact, repeats_take_no_room) {
    Instance i({.entries = 3, .window = 1000, .policy = EchoPolicy::kRefresh});
    i.filter.test_and_insert(1);
    i.filter.test_and_insert(2);
    for (int repeat = 0; repeat < 100; ++repeat) {
        i.filter.test_and_insert(3);
    }
    EXPECT_TRUE(i.filter.test_and_insert(1));
    EXPECT_TRUE(i.filter.test_and_insert(2));
    EXPECT_EQ(i.filter.counters().evicted_early, 0u);
}

// Five digests are live at a time in five entries, at any position of the ring.
TEST(exact, expired_entries_are_taken_over_uncounted) {
    Instance i({.entries = 5, .window = 10});
    for (Digest digest = 4; digest < 1000; ++digest) {
        i.filter.advance({.now = 2 * digest});
        EXPECT_FALSE(i.filter.test_and_insert(digest));
        if (digest >= 8) {
            EXPECT_TRUE(i.filter.test_and_insert(digest - 4));
        }
    }
    EXPECT_EQ(i.filter.counters().insertions, 996u);
    EXPECT_EQ(i.filter.counters().evicted_early, 0u);
}

TEST(exact, clear_forgets_and_keeps_time) {
    Instance i({.entries = 4, .window = 100});
    i.filter.advance({.now = 50});
    for (Digest digest = 1; digest <= 6; ++digest) {
        i.filter.test_and_insert(digest);
    }
    i.filter.clear();
    for (Digest digest = 1; digest <= 4; ++digest) {
        EXPECT_FALSE(i.filter.test_and_insert(digest));
    }
    EXPECT_EQ(i.filter.counters().evicted_early, 2u);
    i.filter.advance({.now = 149});
    EXPECT_TRUE(i.filter.test_and_insert(1));
    i.filter.advance({.now = 150});
    EXPECT_FALSE(i.filter.test_and_insert(1));
}

}  // namespace
}  // namespace unecho::filter::exact_test
