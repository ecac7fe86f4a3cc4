// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sizing/window/bucket.h"

#include <gtest/gtest.h>

#include "filters/sizing/sizing.h"

namespace unecho::sizing::bucket_test {
namespace {

TEST(size_bucket, half_of_the_places_are_for_the_keys_of_a_window) {
    const Result<BucketGeometry> found = size_bucket({50 * kMillisecond, 1e6, 1e-6});
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->buckets, 12'501U);
    const Prediction given = predict(*found, 50 * kMillisecond, 1e6);
    EXPECT_EQ(given.window_keys, 50'000U);
    EXPECT_EQ(given.bytes, 12'502U * 64);
    EXPECT_NEAR(given.false_drop, 0x1p-25, 0x1p-35);
    EXPECT_EQ(given.slack, 16'384U);
    EXPECT_EQ(given.npws, 0.0);
    EXPECT_EQ(given.lines_per_packet, 2.0);
}

TEST(size_bucket, a_bound_below_that_of_the_tags_is_refused) {
    EXPECT_TRUE(size_bucket({kSecond, 1e6, 3e-8}).has_value());
    const Result<BucketGeometry> found = size_bucket({kSecond, 1e6, 2e-8});
    ASSERT_FALSE(found.has_value());
    EXPECT_EQ(found.error().context, "tags have 28 bits; allowed: max_false_drop of at least 3e-8");
}

TEST(size_bucket, more_than_the_largest_memory_is_refused) {
    EXPECT_TRUE(size_bucket({100 * kSecond, 6e8, 1e-6}).has_value());
    EXPECT_FALSE(size_bucket({100 * kSecond, 7e8, 1e-6}).has_value());
    EXPECT_FALSE(size_bucket({0, 1e6, 1e-3}).has_value());
}

TEST(predict_bucket, chance_grows_with_the_load_up_to_full_buckets) {
    const BucketGeometry buckets{100};
    EXPECT_NEAR(predict(buckets, kSecond, 200).false_drop, 4 * 0x1p-28, 1e-12);
    EXPECT_NEAR(predict(buckets, kSecond, 1e6).false_drop, 16 * 0x1p-28, 1e-12);
    EXPECT_EQ(predict(buckets, kSecond, std::nullopt).window_keys, 400U);
}

}  // namespace
}  // namespace unecho::sizing::bucket_test
