// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sizing/window/exact.h"

#include <gtest/gtest.h>

#include "filters/sizing/sizing.h"

namespace unecho::sizing::exact_test {
namespace {

TEST(size_exact, entries_leave_a_quarter_for_bursts) {
    const Result<ExactGeometry> found = size_exact({50 * kMillisecond, 1e6, 1e-6});
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->entries, 62'500U);
}

TEST(size_exact, small_windows_get_the_minimum) {
    const Result<ExactGeometry> found = size_exact({1, 1, 1e-6});
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->entries, 64U);
}

TEST(size_exact, links_of_32_bits_limit_the_entries) {
    const Result<ExactGeometry> fits = size_exact({kSecond, 1.717e9, 1e-6});
    ASSERT_TRUE(fits.has_value());
    EXPECT_LE(fits->entries, 2'147'483'648U);
    const Result<ExactGeometry> found = size_exact({kSecond, 1.72e9, 1e-6});
    ASSERT_FALSE(found.has_value());
    EXPECT_EQ(found.error().code, Errc::kInvalidArgument);
    EXPECT_EQ(found.error().context,
              "window 1 s at 1.72 Gpps needs more than the 2147483648 entries allowed in an exact "
              "filter; shorten the window or lower the rate");
}

TEST(size_exact, impossible_targets_are_refused) {
    for (const Targets& targets :
         {Targets{0, 1e6, 1e-3}, Targets{kSecond, 0, 1e-3}, Targets{kSecond, 1e6, 0}}) {
        const Result<ExactGeometry> found = size_exact(targets);
        ASSERT_FALSE(found.has_value());
        EXPECT_EQ(found.error().code, Errc::kInvalidArgument);
    }
}

TEST(predict_exact, has_no_slack_and_only_the_digests_chance) {
    const Prediction given = predict(ExactGeometry{62'500}, 50 * kMillisecond, 1e6);
    EXPECT_DOUBLE_EQ(given.false_drop, 50'000 * 0x1p-64);
    EXPECT_EQ(given.npws, 0.0);
    EXPECT_EQ(given.slack, 0U);
    EXPECT_EQ(given.window_keys, 50'000U);
    EXPECT_EQ(given.bytes, 125'008 * 4 + 62'502 * 32U);
    EXPECT_DOUBLE_EQ(given.bits_per_key, 8.0 * (125'008 * 4 + 62'502 * 32) / 50'000);
    EXPECT_DOUBLE_EQ(given.lines_per_packet, 3 + 50'000.0 / 125'000);
}

TEST(predict_exact, own_capacity_is_its_entries) {
    const Prediction given = predict(ExactGeometry{1024}, kSecond, std::nullopt);
    EXPECT_EQ(given.window_keys, 1024U);
    EXPECT_EQ(given.bytes, 2048 * 4 + 1026 * 32U);
}

}  // namespace
}  // namespace unecho::sizing::exact_test
