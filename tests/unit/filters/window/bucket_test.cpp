// SPDX-License-Identifier: BSD-3-Clause
// The contract of all engines is in tests/property/contract. Here: limits, ticks, and how often a
// full bucket forgets a digest, which a program of its own simulated.
#include "filters/window/bucket.h"

#include <random>

#include <gtest/gtest.h>

#include "support/instance.h"

namespace unecho::filter::bucket_test {
namespace {

using Table = test::FilterInstance<Bucket>;

std::string message(const BucketSpec& spec) {
    return test::message<BucketParams>(spec);
}

TEST(bucket_params, limits_are_named) {
    EXPECT_EQ(message({.buckets = 1, .window = 1}), "valid");
    EXPECT_EQ(message({.buckets = 0, .window = 1}),
              "bucket: buckets = 0; allowed: 1 to 17179869184");
    EXPECT_EQ(message({.buckets = BucketParams::kMostBuckets + 1, .window = 1}),
              "bucket: buckets = 17179869185; allowed: 1 to 17179869184");
    EXPECT_EQ(message({.buckets = 1, .window = 0}), "bucket: window = 0; allowed: 1 ns or more");
}

TEST(bucket_params, a_window_has_at_most_8192_ticks) {
    const auto tick_bits = [](Nanoseconds window) {
        return BucketParams::make({.buckets = 1, .window = window})->tick_bits();
    };
    EXPECT_EQ(tick_bits(1), 0u);
    EXPECT_EQ(tick_bits(8191), 0u);
    EXPECT_EQ(tick_bits(8192), 1u);
    EXPECT_EQ(tick_bits(50 * kMillisecond), 13u);
}

// Return the share of new digests that take the place of a live one, at so many keys of a window
// for each bucket.
double evicted(double keys_of_bucket, std::uint64_t windows) {
    constexpr std::uint64_t kBuckets = 1 << 12;
    const auto window = static_cast<Nanoseconds>(keys_of_bucket * kBuckets);
    Table table({.buckets = kBuckets, .window = window});
    std::mt19937_64 random(7);
    std::uint64_t before = 0;
    for (Nanoseconds now = 1; now <= windows * window; ++now) {
        table.filter.advance({.now = now});
        EXPECT_FALSE(table.filter.test_and_insert(random())) << "2^64 digests, none twice";
        before = now == 2 * window ? table.filter.counters().evicted_early : before;
    }
    return static_cast<double>(table.filter.counters().evicted_early - before) /
           static_cast<double>((windows - 2) * window);
}

// Bounds are six deviations of the simulated shares 0, 1.97e-3 and 1.15e-2.
TEST(bucket, forgets_early_as_often_as_simulated) {
    EXPECT_EQ(evicted(4, 12), 0);
    EXPECT_NEAR(evicted(5.6, 12), 1.97e-3, 7e-4);
    EXPECT_NEAR(evicted(6, 12), 1.15e-2, 2e-3);
}

// What gave way is the achieved window, and it is reported.
TEST(bucket, a_full_bucket_forgets_its_oldest_digest) {
    Table table({.buckets = 1, .window = 1000});
    for (Digest digest = 1; digest <= 9; ++digest) {
        table.filter.advance({.now = 100 + 10 * digest});
        EXPECT_FALSE(table.filter.test_and_insert(digest));
    }
    EXPECT_EQ(table.filter.counters().evicted_early, 1u);
    EXPECT_EQ(table.filter.used(), 8u);
    EXPECT_FALSE(table.filter.query(1));
    EXPECT_TRUE(table.filter.query(2));
    EXPECT_EQ(table.filter.kept().at(190), 80u);  // digest 1 came at 110
}

// Ticks recur after 2^36. A digest that is older than half of that is forgotten for good.
TEST(bucket, long_silence_forgets_all) {
    for (const Nanoseconds silence : {Nanoseconds{1} << 35, Nanoseconds{1} << 36,
                                      (Nanoseconds{1} << 36) + 5, Nanoseconds{1} << 40}) {
        Table table({.buckets = 4, .window = 1000});
        table.filter.advance({.now = 77});
        EXPECT_FALSE(table.filter.test_and_insert(1));
        table.filter.advance({.now = 77 + silence});
        EXPECT_FALSE(table.filter.query(1)) << silence;
        EXPECT_FALSE(table.filter.test_and_insert(1));
        EXPECT_TRUE(table.filter.test_and_insert(1));
        EXPECT_EQ(table.filter.counters().evicted_early, 0u);
    }
}

}  // namespace
}  // namespace unecho::filter::bucket_test
