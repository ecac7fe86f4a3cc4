// SPDX-License-Identifier: BSD-3-Clause
#include "analyze/timeline.h"

#include <gtest/gtest.h>

namespace unecho::analyze {
namespace {

TEST(Timeline, nothing_is_lost_however_long_the_capture) {
    for (const Nanoseconds step : {Nanoseconds{0}, kMicrosecond, kSecond, 3600 * kSecond}) {
        Timeline timeline;
        for (unsigned i = 0; i < 1000; ++i) {
            timeline.add(i * step, 100, i % 4 == 0);
        }
        const auto bins = timeline.bins();
        ASSERT_LE(bins.size(), Timeline::kMost);
        Count total;
        Count echoes;
        for (std::size_t i = 0; i < bins.size(); ++i) {
            EXPECT_EQ(bins[i].start, i * timeline.width());
            total.packets += bins[i].total.packets;
            total.bytes += bins[i].total.bytes;
            echoes.packets += bins[i].echoes.packets;
        }
        EXPECT_EQ(total, (Count{1000, 100'000}));
        EXPECT_EQ(echoes.packets, 250U);
        EXPECT_EQ(bins.size(), 999 * step / timeline.width() + 1);
    }
}

TEST(Timeline, packets_stay_in_their_time_when_bins_double) {
    Timeline timeline;
    constexpr Nanoseconds kEnd = Timeline::kMost * Timeline::kShortest;
    timeline.add(kEnd / 2 - 1, 1, false);
    timeline.add(kEnd / 2, 2, false);
    timeline.add(2 * kEnd, 4, false);
    ASSERT_EQ(timeline.width(), 4 * Timeline::kShortest);
    const auto bins = timeline.bins();
    ASSERT_EQ(bins.size(), 129U);
    EXPECT_EQ(bins[31].total.bytes, 1U);
    EXPECT_EQ(bins[32].total.bytes, 2U);
    EXPECT_EQ(bins[128].total.bytes, 4U);
}

TEST(PeakRates, take_the_fullest_stretch_of_each_length) {
    PeakRates peaks;
    for (unsigned i = 0; i < 50; ++i) {
        peaks.add(3 * kMillisecond + i);
    }
    for (unsigned i = 0; i < 100; ++i) {
        peaks.add(20 * kMillisecond + i * 90 * kMicrosecond);
    }
    const auto found = peaks.peaks();
    EXPECT_EQ(found[0].most, 50U);
    EXPECT_EQ(found[0].per_second(), 50'000);
    EXPECT_EQ(found[1].most, 100U);
    EXPECT_EQ(found[2].most, 150U);
    EXPECT_EQ(found[3].per_second(), 150);
}

}  // namespace
}  // namespace unecho::analyze
