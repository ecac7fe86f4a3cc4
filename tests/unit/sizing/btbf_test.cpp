// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sizing/window/btbf.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "filters/window/segmented/btbf.h"
#include "targets.h"

namespace unecho::sizing::btbf_test {
namespace {

BtbfGeometry sized(const Targets& targets) {
    const Result<BtbfGeometry> found = size_btbf(targets);
    EXPECT_TRUE(found.has_value()) << found.error().context;
    return found.value_or(BtbfGeometry{1, 2, 64, 4});
}

Prediction predicted(const BtbfGeometry& geometry, const Targets& targets) {
    return predict(geometry, targets.window, targets.keys_per_second);
}

std::string text(const BtbfGeometry& g) {
    return "k " + std::to_string(g.k) + " l " + std::to_string(g.l) + " m " + std::to_string(g.m) +
           " bits " + std::to_string(g.bits);
}

TEST(timer_bits, hold_all_ages_and_expired) {
    EXPECT_EQ(timer_bits(1, 0), 2U);
    EXPECT_EQ(timer_bits(2, 0), 3U);
    EXPECT_EQ(timer_bits(5, 0), 3U);
    EXPECT_EQ(timer_bits(6, 0), 4U);
    EXPECT_EQ(timer_bits(5, 8), 4U);
    EXPECT_EQ(timer_bits(5, 9), 5U);
    EXPECT_EQ(timer_padding(5, 3), 0U);
    EXPECT_EQ(timer_padding(5, 4), 8U);
    for (unsigned l = 1; l < 200; ++l) {
        for (unsigned padding = 0; padding < 40; ++padding) {
            const unsigned bits = timer_bits(l, padding);
            ASSERT_GE(timer_padding(l, bits), padding);
            ASSERT_FALSE(filter::TimedBtbfParams::make(
                {.l = l, .k = 1, .m = 1, .bpt = bits - 1, .P = padding}));
            const auto params =
                filter::TimedBtbfParams::make({.l = l, .k = 1, .m = 1, .bpt = bits});
            ASSERT_TRUE(params);
            ASSERT_EQ(params->P(), timer_padding(l, bits));
        }
    }
}

TEST(timers_match, is_the_fill_to_the_power_k) {
    EXPECT_NEAR(timers_match(1000, 3, 100), std::pow(1 - std::pow(0.999, 300), 3), 1e-14);
    EXPECT_EQ(timers_match(1000, 3, 0), 0);
    EXPECT_EQ(timers_match(1, 3, 0), 0);
    EXPECT_EQ(timers_match(1, 3, 1), 1);
}

TEST(size_btbf, found_geometry_meets_the_targets_and_less_memory_does_not) {
    for (const Targets& targets : kTargets) {
        const BtbfGeometry found = sized(targets);
        const Prediction given = predicted(found, targets);
        EXPECT_LE(given.false_drop, targets.max_false_drop) << text(found);
        EXPECT_LE(given.npws, kMaxNpws) << text(found);
        BtbfGeometry less = found;
        less.m -= std::min<std::uint64_t>(less.m - 1, 512 / found.bits + 1);
        if (less.m > 1 && given.bytes > 64) {
            EXPECT_GT(predicted(less, targets).false_drop, targets.max_false_drop) << text(found);
        }
    }
}

// Padding suffices for k visits at each insertion. The filter takes the geometry as it is sized.
TEST(size_btbf, filter_takes_it_and_expires_with_k_visits) {
    for (const Targets& targets : kTargets) {
        const BtbfGeometry g = sized(targets);
        const auto params =
            filter::TimedBtbfParams::make({.l = g.l, .k = g.k, .m = g.m, .bpt = g.bits});
        ASSERT_TRUE(params) << text(g) << ": " << params.error().context;
        const Prediction given = predicted(g, targets);
        EXPECT_EQ(filter::TimedBtbf::bytes(*params), given.bytes) << text(g);
        EXPECT_LE(params->visits(), g.k * given.generation_keys) << text(g);
    }
}

// In every other shape that expires in time, 2 % less memory does not meet the targets.
TEST(size_btbf, no_shape_does_with_less_memory) {
    const Targets targets = kTargets[1];
    const double least = static_cast<double>(predicted(sized(targets), targets).bytes);
    unsigned shapes = 0;
    for (unsigned bits = 3; bits <= 8; ++bits) {
        for (unsigned l = 2; timer_bits(l, 0) <= bits && l < 60; ++l) {
            for (unsigned k = 1; k <= 20; ++k) {
                const auto m = static_cast<std::uint64_t>(0.98 * 8 * least / bits);
                const BtbfGeometry other{k, l, m, bits};
                const Prediction given = predicted(other, targets);
                const auto visits = (m - 1) / (timer_padding(l, bits) + 1) + 1;
                if (visits <= k * given.generation_keys) {
                    ++shapes;
                    EXPECT_GT(given.false_drop, targets.max_false_drop) << text(other);
                }
            }
        }
    }
    EXPECT_GT(shapes, 500U);
}

TEST(size_btbf, impossible_targets_are_refused) {
    const auto message = [](const Targets& targets) {
        const auto found = size_btbf(targets);
        return found ? "valid" : found.error().context;
    };
    EXPECT_EQ(message({0, 1e6, 1e-3}), "window 0 ns; allowed: 1ns to 8760h");
    EXPECT_EQ(message({kSecond, 0, 1e-3}), "rate 0 pps; allowed: above 0 up to 1000Gpps");
    EXPECT_NE(message({1000 * kSecond, 1e10, 1e-3}).find("needs more than the 1024 GiB allowed"),
              std::string::npos);
}

TEST(predict_btbf, states_window_slack_and_memory) {
    const BtbfGeometry geometry{10, 4, 1'000'000, 4};
    const Prediction given = predict(geometry, 50 * kMillisecond, 1e6);
    EXPECT_EQ(given.window_keys, 50'000U);
    EXPECT_EQ(given.generation_keys, 12'500U);
    EXPECT_EQ(given.generation, 12'500'000U);
    EXPECT_EQ(given.slack, 12'500'000U);
    EXPECT_DOUBLE_EQ(given.npws, 0.25);
    EXPECT_NEAR(given.false_drop, timers_match(1e6, 10, 62'500), 1e-12);
    EXPECT_EQ(given.bytes, 500'160U);
    EXPECT_NEAR(given.bits_per_key, 80.005, 0.01);
    EXPECT_NEAR(given.lines_per_packet, 10.08, 0.01);
}

TEST(predict_btbf, own_capacity_is_half_of_the_timers) {
    const Prediction given = predict(BtbfGeometry{7, 5, 1'000'000, 4}, kSecond, std::nullopt);
    EXPECT_NEAR(given.false_drop, std::exp2(-7), 1e-5);
    EXPECT_NEAR(static_cast<double>(given.generation_keys), 1e6 * std::log(2.0) / 7 / 6, 2);
    EXPECT_EQ(predict(BtbfGeometry{1, 2, 1, 4}, kSecond, std::nullopt).false_drop, 1);
}

}  // namespace
}  // namespace unecho::sizing::btbf_test
