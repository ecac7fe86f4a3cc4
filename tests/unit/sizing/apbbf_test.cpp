// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sizing/window/apbbf.h"

#include <string>

#include <gtest/gtest.h>

#include "filters/sizing/fpr.h"
#include "filters/sizing/search.h"
#include "filters/sizing/sizing.h"
#include "filters/sizing/window/apbf.h"
#include "targets.h"

namespace unecho::sizing::apbbf_test {
namespace {

ApbbfGeometry sized_apbbf(const Targets& targets) {
    const Result<ApbbfGeometry> found = size_apbbf(targets);
    EXPECT_TRUE(found.has_value()) << found.error().context;
    return found.value_or(ApbbfGeometry{1, 2, 512, 2, 1});
}

bool meets(const ApbbfGeometry& geometry, const Targets& targets) {
    const Prediction given = predict(geometry, targets.window, targets.keys_per_second);
    return given.false_drop <= targets.max_false_drop && given.npws <= kMaxNpws;
}

TEST(size_apbbf, found_geometry_meets_the_targets_and_a_block_less_does_not) {
    for (const Targets& targets : kTargets) {
        ApbbfGeometry found = sized_apbbf(targets);
        const std::string where = std::to_string(found.k) + " " + std::to_string(found.l) + " " +
                                  std::to_string(found.b) + " " + std::to_string(found.blocks);
        EXPECT_TRUE(meets(found, targets)) << where;
        if (--found.blocks > 0) {
            EXPECT_FALSE(meets(found, targets)) << where;
        }
    }
}

// Tries all shapes in the memory that was found. None that meets the targets touches fewer lines,
// and in 2 % less memory none meets them.
TEST(size_apbbf, no_other_shape_does_better) {
    const Targets targets{20 * kMillisecond, 1e6, 1e-4};
    const ApbbfGeometry found = sized_apbbf(targets);
    const Prediction given = predict(found, targets.window, targets.keys_per_second);
    const std::uint64_t segments = given.bytes - kSegmentRingBytes;
    unsigned shapes = 0;
    for (unsigned k = 1; k <= 6; ++k) {
        for (unsigned l = 2; l <= 16; ++l) {
            for (unsigned b = 2; b <= 16; b *= 2) {
                const ApbbfGeometry as_large{k, l, 512, b, segments / 64 / (k + l)};
                const ApbbfGeometry smaller{k, l, 512, b, segments * 98 / 100 / 64 / (k + l)};
                EXPECT_FALSE(meets(smaller, targets)) << k << " " << l << " " << b;
                if (meets(as_large, targets)) {
                    ++shapes;
                    const Prediction other =
                        predict(as_large, targets.window, targets.keys_per_second);
                    EXPECT_GE(other.lines_per_packet, given.lines_per_packet - 0.05)
                        << k << " " << l << " " << b;
                }
            }
        }
    }
    EXPECT_GE(shapes, 1U);
}

TEST(size_apbbf, memory_beyond_the_limit_is_refused) {
    const Result<ApbbfGeometry> fits = size_apbbf({3600 * kSecond, 100e6, 1e-2});
    EXPECT_TRUE(fits.has_value());
    const Result<ApbbfGeometry> found = size_apbbf({3600 * kSecond, 100e6, 1e-6});
    ASSERT_FALSE(found.has_value());
    EXPECT_EQ(found.error().code, Errc::kInvalidArgument);
    EXPECT_EQ(
        found.error().context,
        "window 3600 s at 100 Mpps with a false-drop rate of 1e-06 needs more than the 1024 GiB "
        "allowed; shorten the window, lower the rate or allow more false drops");
}

TEST(size_apbbf, impossible_targets_are_refused) {
    for (const Targets& targets :
         {Targets{0, 1e6, 1e-3}, Targets{kSecond, 0, 1e-3}, Targets{kSecond, 1e6, 0}}) {
        const Result<ApbbfGeometry> found = size_apbbf(targets);
        ASSERT_FALSE(found.has_value());
        EXPECT_EQ(found.error().code, Errc::kInvalidArgument);
    }
}

TEST(predict_apbbf, many_blocks_at_their_capacity_give_table_3) {
    const ApbbfGeometry geometry{3, 8, 512, 8, 10'000'000};
    const Prediction given = predict(geometry, 80 * kMillisecond, std::nullopt);
    EXPECT_NEAR(given.false_drop, 0.0000009, 0.5e-7);
    EXPECT_NEAR(given.npws, 0.13, 0.005);
    EXPECT_NEAR(given.bits_per_key, 48.0, 0.05);
    EXPECT_EQ(given.generation, 10 * kMillisecond);
    EXPECT_EQ(given.slack, 30 * kMillisecond);
    EXPECT_EQ(given.window_keys, 8 * given.generation_keys);
    EXPECT_EQ(given.phases, 1U);
    EXPECT_EQ(given.shift_keys, given.generation_keys);
}

TEST(predict_apbbf, planned_rate_sets_the_load) {
    const ApbbfGeometry geometry{2, 5, 512, 4, 300};
    const Prediction given = predict(geometry, 50 * kMillisecond, 1e6);
    EXPECT_EQ(given.generation_keys, 10'000U);
    EXPECT_EQ(given.window_keys, 50'000U);
    EXPECT_EQ(given.bytes, 7 * 300 * 64U + kSegmentRingBytes);
    const Profile r = block_profile(2, 5, 512, 4, 300, 10'000, kBeforeShift);
    EXPECT_NEAR(given.false_drop, false_positive_rate(2, 5, r), 1e-12);
    EXPECT_DOUBLE_EQ(given.lines_per_packet, segments_of_new_key(2, 5, r));
}

}  // namespace
}  // namespace unecho::sizing::apbbf_test
