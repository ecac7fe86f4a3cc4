// SPDX-License-Identifier: BSD-3-Clause
#include "filters/window/segmented/shbf_x_window.h"

#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "filters/sizing/sets/shbf.h"
#include "filters/sizing/sizing.h"
#include "filters/sizing/window/shbf_x_window.h"

namespace unecho::sizing::shbf_x_window_test {
namespace {

constexpr Nanoseconds kWindow = 50 * kMillisecond;

std::string message(const Targets& targets, unsigned n) {
    const auto sized = size_shbf_x_window(targets, n);
    return sized ? "valid" : sized.error().context;
}

// In large arrays these are the paper's formulas: (17) for one multiplicity, (18) for any of c.
TEST(shbf_x_window_match, is_the_papers_in_large_arrays) {
    for (const unsigned c : {1U, 2U, 10U, 57U}) {
        for (const unsigned k : {1U, 4U, 12U}) {
            SCOPED_TRACE("c " + std::to_string(c) + " k " + std::to_string(k));
            constexpr std::uint64_t kM = std::uint64_t{1} << 34;
            const ShbfXWindowGeometry geometry{k, 3, kM, c};
            for (const double fill : {0.1, 0.5, 0.9}) {
                const double packets = -std::log1p(-fill) * kM / k;
                const double chance = shbf_x_chance(kM, packets, k);
                EXPECT_NEAR(shbf_x_multiplicity_match(geometry, packets) / chance, 1, 1e-4);
                const double absent = shbf_x_correct_absent(kM, packets, k, c);
                EXPECT_NEAR(shbf_x_match(geometry, packets), 1 - absent, 1e-4 * (1 - absent));
            }
        }
    }
}

// Computed by hand: fill^k = 2.503e-4; 1.3543 times that for arrays of unlike fill; 9.891e-4 for
// overlapping windows.
TEST(shbf_x_window_match, of_a_small_array_has_all_its_parts) {
    EXPECT_NEAR(shbf_x_multiplicity_match({12, 1, 2000, 30}, 115), 1.32812e-3, 1e-8);
}

TEST(shbf_x_window_size, keeps_the_targets_and_no_smaller_segment_does) {
    for (const unsigned n : {1U, 2U, 5U, 10U, 57U}) {
        for (const double false_drop : {1e-2, 1e-4, 1e-6, 1e-9}) {
            for (const double rate : {200.0, 1e4, 1e6}) {
                SCOPED_TRACE("n " + std::to_string(n) + " at " + std::to_string(rate));
                const auto found = size_shbf_x_window({kWindow, rate, false_drop}, n);
                ASSERT_TRUE(found);
                EXPECT_EQ(found->c, n);
                const Prediction predicted = predict(*found, kWindow, rate);
                EXPECT_LE(predicted.false_drop, false_drop);
                EXPECT_LE(predicted.npws, kMaxNpws);
                ShbfXWindowGeometry smaller = *found;
                if (found->m > 512) {
                    smaller.m -= 512;
                    EXPECT_GT(predict(smaller, kWindow, rate).false_drop, false_drop);
                }
            }
        }
    }
}

TEST(shbf_x_window_size, bytes_are_those_of_the_filter) {
    const auto found = size_shbf_x_window({kWindow, 1e6, 1e-6}, 10);
    ASSERT_TRUE(found);
    // A window at the last bit needs one line more if the array ends near a line's end.
    for (const std::uint64_t bits : {0, 8, 9, 63, 64, 65}) {
        const std::uint64_t m = found->m + bits;
        const auto params = filter::ShbfXWindowParams::make(
            {.k = found->k, .l = found->l, .m = m, .c = found->c, .spares = 0});
        ASSERT_TRUE(params);
        EXPECT_EQ(predict(ShbfXWindowGeometry{found->k, found->l, m, found->c}, kWindow, 1e6).bytes,
                  filter::ShbfXWindow::bytes(*params))
            << bits;
    }
}

TEST(shbf_x_window_predict, is_of_one_generation_of_slack) {
    const Prediction predicted = predict(ShbfXWindowGeometry{8, 5, 100'000, 10}, kWindow, 1e5);
    EXPECT_EQ(predicted.generation, 10 * kMillisecond);
    EXPECT_EQ(predicted.slack, 10 * kMillisecond);
    EXPECT_EQ(predicted.npws, 0.2);
    EXPECT_EQ(predicted.generation_keys, 1'000U);
    EXPECT_EQ(predicted.window_keys, 5'000U);
    const double match = shbf_x_match({8, 5, 100'000, 10}, 1'000);
    EXPECT_NEAR(predicted.false_drop, 1 - std::pow(1 - match, 6), 1e-6 * predicted.false_drop);
}

TEST(shbf_x_window_predict, without_a_rate_is_at_fill_one_half) {
    const Prediction predicted = predict(ShbfXWindowGeometry{8, 5, 100'000, 10}, kWindow, {});
    EXPECT_EQ(predicted.generation_keys, 8'664U);  // m ln 2 / k
    EXPECT_EQ(predicted.window_keys, 5 * 8'664U);
    // 5 segments, each read until no candidate is left: 4.7 of 8 windows; and 8 are written.
    double windows = 0;
    for (int read = 0; read < 8; ++read) {
        windows += 1 - std::pow(1 - std::pow(0.5, read), 10);
    }
    EXPECT_NEAR(predicted.lines_per_packet, 5 * windows + 8, 0.01);
}

TEST(shbf_x_window_size, refuses_what_it_cannot) {
    EXPECT_EQ(message({kWindow, 1e6, 1e-6}, 0), "first 0 packets of a flow; allowed: 1 to 57");
    EXPECT_EQ(message({kWindow, 1e6, 1e-6}, 58), "first 58 packets of a flow; allowed: 1 to 57");
    EXPECT_EQ(message({0, 1e6, 1e-6}, 5), "window 0 ns; allowed: 1ns to 8760h");
    EXPECT_NE(message({8760 * 3600 * kSecond, 1e6, 1e-3}, 5).find("needs more than the"),
              std::string::npos);
}

}  // namespace
}  // namespace unecho::sizing::shbf_x_window_test
