// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/tally/timeline.h"

#include <algorithm>
#include <array>
#include <map>
#include <random>

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

constexpr unsigned kMillisecondWindow = 12;
static_assert(kWindowBuckets[kMillisecondWindow] == kMillisecond);

TEST(PeakRates, take_the_fullest_stretch_for_each_window) {
    PeakRates peaks;
    for (unsigned i = 0; i < 50; ++i) {
        peaks.add(3 * kMillisecond + i, from(0));
    }
    for (unsigned i = 0; i < 100; ++i) {
        peaks.add(20 * kMillisecond + i * 90 * kMicrosecond, from(0));
    }
    const PeakRates::Peak shortest = peaks.peak(kMillisecondWindow);
    EXPECT_EQ(shortest.stretch, 62'500U);
    EXPECT_EQ(shortest.most, 50U);
    EXPECT_EQ(shortest.per_second(), 800'000);
    EXPECT_EQ(peaks.peak(kMillisecondWindow + 6).most, 70U);   // 6.25 ms, a packet each 90 us
    EXPECT_EQ(peaks.peak(kMillisecondWindow + 9).most, 150U);  // 62.5 ms
    EXPECT_EQ(peaks.peak(kWindows - 2).most, 150U);
}

// A generation may begin at any time, so a burst must count in full wherever it begins.
TEST(PeakRates, count_a_short_burst_in_full_wherever_it_begins) {
    constexpr Nanoseconds kStep = kMillisecond / 64;
    for (Nanoseconds begin = 0; begin < 200 * kMicrosecond; begin += 700) {
        PeakRates peaks;
        for (unsigned i = 0; i < 64; ++i) {
            peaks.add(begin + i * (3 * kStep / 64), from(0));
        }
        EXPECT_EQ(peaks.peak(kMillisecondWindow).most, 64U) << begin;
    }
}

// Recounts at every packet the stretch that ends with it, in steps of a quarter stretch.
class PlainPeaks {
  public:
    void add(Nanoseconds now, WindowMask windows) {
        for (unsigned window = kMillisecondWindow; window + 1 < kWindows; ++window) {
            const Nanoseconds step = kWindowBuckets[window] / PeakRates::kGenerations / 4;
            auto& steps = steps_[window];
            steps[now / step] += windows >> window & 1;
            std::uint64_t sum = 0;
            for (auto it = steps.rbegin(); it != steps.rend() && it->first + 4 > now / step; ++it) {
                sum += it->second;
            }
            most_[window] = std::max(most_[window], sum);
        }
    }
    [[nodiscard]] std::uint64_t most(unsigned window) const { return most_[window]; }

  private:
    std::array<std::map<Nanoseconds, std::uint64_t>, kWindows> steps_;
    std::array<std::uint64_t, kWindows> most_{};
};

TEST(PeakRates, are_those_of_counting_each_packet_in_each_window) {
    std::mt19937_64 random(3);
    for (unsigned turn = 0; turn < 20; ++turn) {
        PeakRates peaks;
        PlainPeaks plain;
        Nanoseconds now = random() % 2 * kSecond;
        for (unsigned i = 0; i < 400; ++i) {
            now += random() % (Nanoseconds{1} << (random() % 36));
            const WindowMask windows = random() % 2 == 0 ? from(0)
                                       : random() % 2 == 0
                                           ? static_cast<WindowMask>(~from(random() % 33))
                                           : static_cast<WindowMask>(random());
            peaks.add(now, windows);
            plain.add(now, windows);
        }
        for (unsigned window = kMillisecondWindow; window + 1 < kWindows; ++window) {
            ASSERT_EQ(peaks.peak(window).most, plain.most(window)) << turn << " " << window;
        }
    }
}

}  // namespace
}  // namespace unecho::analyze
