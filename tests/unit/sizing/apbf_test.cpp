// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sizing/window/apbf.h"

#include <string>

#include <gtest/gtest.h>

#include "filters/sizing/fpr.h"
#include "filters/sizing/search.h"
#include "filters/sizing/sizing.h"
#include "support/vectors.h"
#include "targets.h"

namespace unecho::sizing::apbf_test {
namespace {

ApbfGeometry sized_apbf(const Targets& targets) {
    const Result<ApbfGeometry> found = size_apbf(targets);
    EXPECT_TRUE(found.has_value()) << found.error().context;
    return found.value_or(ApbfGeometry{1, 1, 512});
}

bool meets(const ApbfGeometry& geometry, const Targets& targets) {
    const Prediction given = predict(geometry, targets.window, targets.keys_per_second);
    return given.false_drop <= targets.max_false_drop && given.npws <= kMaxNpws;
}

TEST(size_apbf, found_geometry_meets_the_targets_and_a_line_less_does_not) {
    for (const Targets& targets : kTargets) {
        const ApbfGeometry found = sized_apbf(targets);
        const std::string where =
            std::to_string(found.k) + " " + std::to_string(found.l) + " " + std::to_string(found.m);
        EXPECT_TRUE(meets(found, targets)) << where;
        EXPECT_EQ(found.m % 512, 0U) << where;
        if (found.m > 512) {
            EXPECT_FALSE(meets(ApbfGeometry{found.k, found.l, found.m - 512}, targets)) << where;
        }
    }
}

// Tries all shapes in the memory that was found. None that meets the targets touches fewer lines,
// and in 2 % less memory none meets them.
TEST(size_apbf, no_other_shape_does_better) {
    const Targets targets{80 * kMillisecond, 1e6, 1e-3};
    const ApbfGeometry found = sized_apbf(targets);
    const Prediction given = predict(found, targets.window, targets.keys_per_second);
    const std::uint64_t segments = given.bytes - kSegmentRingBytes;
    const auto slice_bits = [](std::uint64_t bytes, unsigned slices) {
        return bytes / 64 / slices * 512;
    };
    unsigned shapes = 0;
    for (unsigned k = 1; k <= 26; ++k) {
        for (unsigned l = 1; l <= 63; ++l) {
            const ApbfGeometry as_large{k, l, slice_bits(segments, k + l)};
            const ApbfGeometry smaller{k, l, slice_bits(segments * 98 / 100, k + l)};
            EXPECT_FALSE(meets(smaller, targets)) << k << " " << l;
            if (meets(as_large, targets)) {
                ++shapes;
                EXPECT_GE(
                    predict(as_large, targets.window, targets.keys_per_second).lines_per_packet,
                    given.lines_per_packet - 0.05)
                    << k << " " << l;
            }
        }
    }
    EXPECT_GE(shapes, 1U);
}

TEST(size_apbf, memory_beyond_the_limit_is_refused) {
    const Result<ApbfGeometry> fits = size_apbf({3600 * kSecond, 100e6, 1e-2});
    EXPECT_TRUE(fits.has_value());
    const Result<ApbfGeometry> found = size_apbf({3600 * kSecond, 100e6, 1e-6});
    ASSERT_FALSE(found.has_value());
    EXPECT_EQ(found.error().code, Errc::kInvalidArgument);
    EXPECT_EQ(
        found.error().context,
        "window 3600 s at 100 Mpps with a false-drop rate of 1e-06 needs more than the 1024 GiB "
        "allowed; shorten the window, lower the rate or allow more false drops");
}

TEST(size_apbf, impossible_targets_are_refused) {
    for (const Targets& targets :
         {Targets{0, 1e6, 1e-3}, Targets{kSecond, 0, 1e-3}, Targets{kSecond, 1e6, 0}}) {
        const Result<ApbfGeometry> found = size_apbf(targets);
        ASSERT_FALSE(found.has_value());
        EXPECT_EQ(found.error().code, Errc::kInvalidArgument);
    }
}

TEST(predict_apbf, own_capacity_agrees_with_the_vectors) {
    const auto rows = test::vectors("apbf_sizes");
    ASSERT_GE(rows.size(), 100U);
    for (const test::Row& row : rows) {
        const ApbfGeometry geometry{row.whole("k"), row.whole("l"), row.whole("m")};
        if (row.whole("g") == 0) {
            continue;
        }
        const Prediction given = predict(geometry, kSecond, std::nullopt);
        EXPECT_EQ(given.generation_keys, row.whole("g"));
        EXPECT_EQ(given.window_keys, row.whole("w=l*g"));
        if (geometry.m % 512 == 0) {
            EXPECT_EQ((given.bytes - kSegmentRingBytes) * 8, row.real("memory"));
            EXPECT_NEAR(given.bits_per_key, row.real("bits_per_window_element"),
                        1e-9 * given.bits_per_key);
        }
    }
}

TEST(predict_apbf, large_slices_at_their_capacity_give_the_formulas_for_fill_one_half) {
    const Prediction given =
        predict(ApbfGeometry{7, 10, 1U << 30}, 100 * kMillisecond, std::nullopt);
    const Profile r = fills_half(7, 10, kBeforeShift);
    EXPECT_NEAR(given.false_drop, false_positive_rate(7, 10, r), 1e-8);
    EXPECT_NEAR(given.npws, npws_half(7, 10), 1e-6);
    EXPECT_NEAR(given.bits_per_key, bits_per_window_key(7, 10), 1e-5);
    EXPECT_NEAR(given.lines_per_packet, segments_of_new_key(7, 10, r), 1e-6);
    EXPECT_EQ(given.generation, 10 * kMillisecond);
    EXPECT_EQ(given.slack, 70 * kMillisecond);
}

TEST(predict_apbf, planned_rate_sets_the_load) {
    const ApbfGeometry geometry{4, 5, 64'000};
    const Prediction given = predict(geometry, 50 * kMillisecond, 1e6);
    EXPECT_EQ(given.generation, 10 * kMillisecond);
    EXPECT_EQ(given.generation_keys, 10'000U);
    EXPECT_EQ(given.window_keys, 50'000U);
    EXPECT_EQ(given.bytes, 9 * 8'000U + kSegmentRingBytes);
    EXPECT_NEAR(given.false_drop,
                false_positive_rate(4, 5, fills(4, 5, 64'000, 10'000, kBeforeShift)), 1e-12);
}

TEST(predict_apbf, slices_take_whole_lines) {
    EXPECT_EQ(predict(ApbfGeometry{1, 1, 64}, kSecond, 1.0).bytes, 2 * 64U + kSegmentRingBytes);
    EXPECT_EQ(predict(ApbfGeometry{1, 1, 513}, kSecond, 1.0).bytes, 2 * 128U + kSegmentRingBytes);
}

}  // namespace
}  // namespace unecho::sizing::apbf_test
