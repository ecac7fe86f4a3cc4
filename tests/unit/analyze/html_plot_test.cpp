// SPDX-License-Identifier: BSD-3-Clause
#include "captures/view/html/plot.h"

#include <gtest/gtest.h>

namespace unecho::view {
namespace {

std::string labels_of(const std::vector<Tick>& ticks) {
    std::string out;
    for (const Tick& tick : ticks) {
        out += (out.empty() ? "" : " | ") + tick.label;
    }
    return out;
}

TEST(HtmlScale, counts_have_round_ticks) {
    EXPECT_EQ(labels_of(count_scale(0).ticks), "0 | 1");
    EXPECT_EQ(labels_of(count_scale(3).ticks), "0 | 1 | 2 | 3");
    EXPECT_EQ(labels_of(count_scale(7).ticks), "0 | 2 | 4 | 6");
    EXPECT_EQ(labels_of(count_scale(3077).ticks), "0 | 1,000 | 2,000 | 3,000");
    EXPECT_EQ(labels_of(count_scale(11'400).ticks), "0 | 5k | 10k");
    EXPECT_EQ(labels_of(count_scale(1.6e6).ticks), "0 | 0.5M | 1M | 1.5M");
    EXPECT_EQ(labels_of(count_scale(9e9).ticks), "0 | 2G | 4G | 6G | 8G");
}

TEST(HtmlScale, nothing_is_above_the_top_and_little_space_is_left) {
    for (double most = 1; most < 1e12; most *= 1.37) {
        const Scale scale = count_scale(most);
        EXPECT_GE(scale.top, most);
        EXPECT_LE(scale.top, most * 1.5 + 1);
        EXPECT_LE(scale.ticks.size(), 6U);
        EXPECT_GE(scale.ticks.size(), 2U);
    }
}

TEST(HtmlScale, shares_have_round_ticks) {
    EXPECT_EQ(labels_of(share_scale(1).ticks), "0 % | 20 % | 40 % | 60 % | 80 % | 100 %");
    EXPECT_EQ(labels_of(share_scale(0.296).ticks), "0 % | 10 % | 20 % | 30 %");
    EXPECT_EQ(labels_of(share_scale(0.0004).ticks), "0 % | 0.01 % | 0.02 % | 0.03 % | 0.04 %");
    EXPECT_DOUBLE_EQ(share_scale(1).top, 1);
}

TEST(HtmlScale, times_have_round_ticks) {
    EXPECT_EQ(labels_of(time_scale(12 * kSecond).ticks), "0 | 2 s | 4 s | 6 s | 8 s | 10 s | 12 s");
    EXPECT_EQ(labels_of(time_scale(1100 * kMillisecond).ticks),
              "0 | 200 ms | 400 ms | 600 ms | 800 ms | 1 s");
    EXPECT_EQ(labels_of(time_scale(600 * kSecond).ticks),
              "0 | 2 min | 4 min | 6 min | 8 min | 10 min");
    EXPECT_EQ(labels_of(time_scale(7200 * kSecond).ticks), "0 | 30 min | 1 h | 1 h 30 min | 2 h");
    EXPECT_EQ(labels_of(time_scale(250 * kSecond).ticks), "0 | 1 min | 2 min | 3 min | 4 min");
    EXPECT_EQ(labels_of(time_scale(4000 * 86400 * kSecond).ticks),
              "0 | 1,000 d | 2,000 d | 3,000 d | 4,000 d");
    EXPECT_EQ(labels_of(time_scale(1).ticks), "0 | 1 ns");
}

TEST(HtmlScale, ages_lie_at_equal_ratios) {
    const LogScale scale = log_scale(kMicrosecond, kSecond);
    EXPECT_EQ(labels_of(scale.ticks), "1 us | 10 us | 100 us | 1 ms | 10 ms | 100 ms | 1 s");
    EXPECT_DOUBLE_EQ(scale.at(kMicrosecond), 0);
    EXPECT_DOUBLE_EQ(scale.at(kMillisecond), 0.5);
    EXPECT_DOUBLE_EQ(scale.at(kSecond), 1);
    EXPECT_DOUBLE_EQ(scale.at(0), 0);
    EXPECT_DOUBLE_EQ(scale.at(100 * kSecond), 1);
}

TEST(HtmlScale, long_spans_have_half_of_the_labels_and_all_ticks) {
    const auto ticks = log_scale(1, 1e12).ticks;
    EXPECT_EQ(ticks.size(), 13U);
    EXPECT_EQ(labels_of(ticks),
              "1 ns |  | 100 ns |  | 10 us |  | 1 ms |  | 100 ms |  | 10 s |  | 1,000 s");
}

TEST(HtmlScale, short_spans_have_ticks_between_powers_of_ten) {
    EXPECT_EQ(labels_of(log_scale(3000, 40'000).ticks), "5 us | 10 us | 20 us");
    EXPECT_EQ(labels_of(log_scale(0.5, 0.5).ticks), "1 ns | 2 ns | 5 ns");
}

TEST(HtmlScale, narrow_pages_show_few_labels) {
    for (double high = 10; high < 1e12; high *= 10) {
        std::size_t shown = 0;
        for (const Tick& tick : log_scale(1, high).ticks) {
            shown += tick.minor ? 0 : 1;
        }
        EXPECT_LE(shown, 5U) << high;
        EXPECT_GE(shown, 2U) << high;
    }
}

TEST(HtmlPlot, steps_hold_until_the_next_point) {
    EXPECT_EQ(step_path({{0, 0}, {0.5, 0.25}, {1, 1}}), "M0 220H500V165H1000V0");
    EXPECT_EQ(step_path({}), "");
}

TEST(HtmlPlot, bands_go_there_above_and_back_below) {
    EXPECT_EQ(band_path({{0, 0.5}, {0.5, 1}}, {{0, 0}, {0.5, 0.5}}),
              "M0 110H500V0H1000V110H500V220H0Z");
    EXPECT_EQ(band_path({}, {}), "");
}

TEST(HtmlPlot, points_outside_stay_on_the_border) {
    EXPECT_EQ(step_path({{-1, 2}, {3, -1}}), "M0 0H1000V220");
}

TEST(HtmlPlot, small_columns_are_seen_and_empty_ones_are_not) {
    const auto drawn = [](double height) {
        return column({0.25, 0.5, height, "in", "a < b", "data-low=\"7\""});
    };
    EXPECT_NE(drawn(0.5).find("x=\"25%\" width=\"25%\" y=\"110\" height=\"110\""),
              std::string::npos);
    EXPECT_NE(drawn(1e-6).find("y=\"218.5\" height=\"1.5\""), std::string::npos);
    EXPECT_NE(drawn(0).find("height=\"0\""), std::string::npos);
    EXPECT_NE(drawn(0).find("<title>a &lt; b</title>"), std::string::npos);
}

TEST(HtmlPlot, marks_at_the_border_keep_their_label_inside) {
    EXPECT_NE(mark(0.05, "w").find("text-anchor=\"start\""), std::string::npos);
    EXPECT_NE(mark(0.5, "w").find("text-anchor=\"middle\""), std::string::npos);
    EXPECT_NE(mark(0.95, "w").find("text-anchor=\"end\""), std::string::npos);
}

}  // namespace
}  // namespace unecho::view
