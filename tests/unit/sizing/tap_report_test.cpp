// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sizing/tap_report.h"

#include <cmath>

#include <gtest/gtest.h>

namespace unecho::sizing::tap_report_test {
namespace {

// (1 - 2^-11)^2 = 0.99902; 2^-10 gives 0.998.
TEST(SizeTapReport, is_half_full_when_all_planned_flows_were_on_both_taps) {
    for (const std::uint64_t flows : {1ULL, 100ULL, 100'000ULL, 1'000'000'000ULL}) {
        const auto geometry = size_tap_report(flows);
        ASSERT_TRUE(geometry);
        EXPECT_EQ(geometry->k, 11U);
        const double bits = 2 * static_cast<double>(flows) * 11 / std::log(2.0);
        EXPECT_GE(static_cast<double>(geometry->m), bits);
        EXPECT_LT(static_cast<double>(geometry->m), bits + 1);
    }
}

TEST(SizeTapReport, names_what_is_allowed) {
    EXPECT_TRUE(size_tap_report(std::uint64_t{1} << 37));
    EXPECT_EQ(size_tap_report(0).error().context, "tap report: flows = 0; allowed: 1 to 2^37");
    EXPECT_EQ(size_tap_report((std::uint64_t{1} << 37) + 1).error().context,
              "tap report: flows = 137438953473; allowed: 1 to 2^37");
}

// All planned flows are on both taps: at the end 0.1 % of the answers are ambiguous, and far fewer
// over the whole window.
TEST(TapExpectation, of_as_many_flows_as_planned_is_close_to_them) {
    constexpr unsigned kFlows = 100'000;
    TapExpectation expected(*size_tap_report(kFlows));
    EXPECT_EQ(expected.chance(), 0);
    for (unsigned i = 0; i < kFlows; ++i) {
        expected.new_flow();
        expected.known_flow();
    }
    EXPECT_NEAR(expected.chance(), std::pow(2.0, -11), 3e-6);
    EXPECT_NEAR(expected.flows(), kFlows, 3e-4 * kFlows);
    EXPECT_NEAR(expected.both(), kFlows, 3e-4 * kFlows);
    EXPECT_LT(expected.flows(), kFlows);
}

// With four bits and k = 1, each inserted element sets one more bit, so each step can be computed
// by hand.
TEST(TapExpectation, goes_step_by_step) {
    TapExpectation expected({.m = 4, .k = 1});
    expected.new_flow();  // nothing matches yet
    EXPECT_EQ(expected.flows(), 1);
    EXPECT_EQ(expected.both(), 0);
    EXPECT_EQ(expected.chance(), 0.25);
    expected.new_flow();
    EXPECT_EQ(expected.flows(), 1 + 0.75 * 0.75);
    EXPECT_EQ(expected.both(), 0.25 * 0.75 * 0.75);
    // A quarter of the bits with probability (1 + f) (1 - f)^2.
    const double f = 0.25 + 0.25 * (0.75 * 0.75 + 0.25 * 0.75 * 0.75);
    EXPECT_NEAR(expected.chance(), f, 1e-15);
    expected.known_flow();
    EXPECT_EQ(expected.flows(), 1 + 0.75 * 0.75);
    EXPECT_NEAR(expected.both(), 0.25 * 0.75 * 0.75 + (1 - f) * (1 - f), 1e-15);
    EXPECT_NEAR(expected.chance(), f + 0.25 * (1 - f) * (1 - f), 1e-15);
}

}  // namespace
}  // namespace unecho::sizing::tap_report_test
