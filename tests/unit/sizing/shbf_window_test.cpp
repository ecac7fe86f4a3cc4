// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sizing/window/shbf_window.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "filters/sizing/sets/shbf.h"
#include "filters/sizing/sizing.h"

namespace unecho::sizing::shbf_window_test {
namespace {

const std::vector<Targets> kTargets{
    {50 * kMillisecond, 1e6, 1e-2}, {50 * kMillisecond, 1e6, 1e-6}, {kSecond, 14.88e6, 1e-4},
    {kSecond, 148.8e6, 0.5},        {3'333'333, 7'777.7, 1e-3},     {kMicrosecond, 1e6, 1e-6},
};

bool meets(const ShbfWindowGeometry& geometry, const Targets& targets) {
    const Prediction given = predict(geometry, targets.window, targets.keys_per_second);
    return given.false_drop <= targets.max_false_drop && given.npws <= kMaxNpws;
}

TEST(size_shbf_window, found_geometry_meets_the_targets_and_a_line_less_does_not) {
    for (const Targets& targets : kTargets) {
        const auto found = size_shbf_window(targets);
        ASSERT_TRUE(found) << found.error().context;
        const std::string where = std::to_string(found->k) + " " + std::to_string(found->l) + " " +
                                  std::to_string(found->m) + " " + std::to_string(found->b);
        EXPECT_TRUE(meets(*found, targets)) << where;
        EXPECT_EQ(found->m % 512, 512U - 56) << where;
        if (found->m > 512) {
            EXPECT_FALSE(
                meets(ShbfWindowGeometry{found->k, found->l, found->m - 512, found->b}, targets))
                << where;
        }
    }
}

TEST(size_shbf_window, what_cannot_be_is_refused) {
    EXPECT_FALSE(size_shbf_window({0, 1e6, 1e-3}));
    EXPECT_FALSE(size_shbf_window({kSecond, 1e6, 0.6}));
    const auto too_large = size_shbf_window({3600 * kSecond, 1e11, 1e-3});
    ASSERT_FALSE(too_large);
    EXPECT_NE(too_large.error().context.find("needs more than"), std::string::npos);
}

// Segments have the keys of k generations, except the youngest ones.
TEST(shbf_window_profile, rises_to_that_of_k_generations) {
    const ShbfWindowGeometry geometry{3, 4, 100'000, 8};
    const Profile r = shbf_window_profile(geometry, 1'000, kBeforeShift);
    ASSERT_EQ(r.size(), 7U);
    EXPECT_LT(r[0], r[1]);
    EXPECT_LT(r[1], r[2]);
    for (std::size_t i = 3; i < r.size(); ++i) {
        EXPECT_EQ(r[i], r[2]);
    }
    EXPECT_NEAR(r[2], ShbfGroupModel(57, 1).fpr(100'000, 3'000, 8), 0.01 * r[2]);
    EXPECT_LT(shbf_window_profile(geometry, 1'000, 0)[0], r[0]);
}

TEST(predict_shbf_window, without_a_rate_fills_segments_to_half) {
    const Prediction p = predict(ShbfWindowGeometry{2, 5, 100'000, 8}, kSecond, std::nullopt);
    EXPECT_EQ(p.generation_keys, 4332U);  // m ln 2 / (b k)
    EXPECT_EQ(p.window_keys, 5U * 4332);
}

}  // namespace
}  // namespace unecho::sizing::shbf_window_test
