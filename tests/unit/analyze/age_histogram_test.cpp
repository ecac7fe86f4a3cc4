// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/tally/age_histogram.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace unecho::analyze {
namespace {

TEST(AgeBins, every_age_lies_in_its_bin) {
    std::mt19937_64 random(1);
    for (unsigned i = 0; i < 100'000; ++i) {
        const Nanoseconds age = random() >> (random() % 64);
        const unsigned bin = age_bin(age);
        ASSERT_LT(bin, kAgeBins);
        ASSERT_LE(age_bin_low(bin), age);
        ASSERT_TRUE(age < age_bin_low(bin + 1) || age == UINT64_MAX) << age;
    }
    for (unsigned bin = 0; bin < kAgeBins; ++bin) {
        EXPECT_EQ(age_bin(age_bin_low(bin)), bin);
    }
}

TEST(AgeBins, are_ten_to_a_power_of_ten_and_windows_are_their_ends) {
    for (Nanoseconds decade = kMicrosecond; decade <= 1000 * kSecond; decade *= 10) {
        EXPECT_EQ(age_bin(10 * decade) - age_bin(decade), 10U);
        for (const Nanoseconds window : {decade, 2 * decade, 5 * decade}) {
            EXPECT_EQ(age_bin_low(age_bin(window)), window);
        }
    }
}

// Ages spread evenly over the logarithm form a smooth curve, so neighbouring bins hold nearly the
// same count. Bins of linear steps within an octave would differ by up to 1.67.
TEST(AgeBins, smooth_ages_have_no_teeth) {
    AgeHistogram histogram;
    constexpr unsigned kAges = 200'000;  // about 2000 in a bin
    for (unsigned i = 0; i < kAges; ++i) {
        const double decades = 10 * (i + 0.5) / kAges;
        histogram.add(static_cast<Nanoseconds>(100 * std::pow(10, decades)), Cause::kRouted);
    }
    const Ages ages = histogram.ages();
    ASSERT_GE(ages.bins.size(), 100U);
    for (std::size_t i = 2; i + 1 < ages.bins.size(); ++i) {
        const double before = density(ages.bins[i - 1], 1);
        EXPECT_NEAR(density(ages.bins[i], 1) / before, 1, 0.015) << ages.bins[i].low;
        const auto plain = static_cast<double>(ages.bins[i].echoes);
        EXPECT_NEAR(plain / static_cast<double>(ages.bins[i - 1].echoes), 1, 0.05);
    }
}

// With timestamps in whole microseconds, ages are 1, 2, 3, ... us. Some bins hold one of these,
// some two, some none.
TEST(AgeBins, coarse_timestamps_make_no_teeth) {
    AgeHistogram histogram;
    constexpr unsigned kAges = 200'000;
    for (unsigned i = 0; i < kAges; ++i) {
        const double age = 1000 * std::pow(10, 4 * (i + 0.5) / kAges);
        const double phase = std::fmod(i * 0.6180339887498949, 1) * 1000;
        const double whole = std::floor((age + phase) / 1000);
        histogram.add(static_cast<Nanoseconds>(whole) * 1000, Cause::kRouted);
    }
    const Ages ages = histogram.ages(kMicrosecond);
    ASSERT_GE(ages.bins.size(), 35U);
    std::size_t compared = 0;
    for (std::size_t i = 1; i + 2 < ages.bins.size(); ++i) {
        const AgeBin& bin = ages.bins[i];
        EXPECT_EQ(bin.low, ages.bins[i - 1].high);
        if (bin.low < 3 * kMicrosecond) {
            continue;  // on the border of the ages that were made
        }
        const double before = density(ages.bins[i - 1], kMicrosecond);
        EXPECT_NEAR(density(bin, kMicrosecond) / before, 1, 0.03) << bin.low;
        ++compared;
    }
    EXPECT_GE(compared, 30U);
}

TEST(AgeBins, ages_that_timestamps_cannot_have_have_no_bin) {
    AgeHistogram histogram;
    histogram.add(0, Cause::kRouted);
    histogram.add(5 * kMillisecond, Cause::kRouted);
    const Ages ages = histogram.ages(kMillisecond);
    ASSERT_EQ(ages.bins.size(), 6U);
    for (std::size_t i = 0; i < ages.bins.size(); ++i) {
        EXPECT_EQ(ages.bins[i].low, i * kMillisecond);
        EXPECT_EQ(ages.bins[i].high, (i == 5 ? 7 : i + 1) * kMillisecond);  // holds 5 and 6
    }
    EXPECT_EQ(ages.p50, 0U);
    EXPECT_EQ(ages.p99, 5 * kMillisecond);
}

TEST(AgeHistogram, counts_by_cause_without_holes) {
    AgeHistogram histogram;
    histogram.add(1024, Cause::kRouted);
    histogram.add(1030, Cause::kIdentical);
    histogram.add(4096, Cause::kRouted);
    const Ages ages = histogram.ages();
    ASSERT_EQ(ages.bins.size(), 7U);
    EXPECT_EQ(ages.bins.front().low, 1000U);
    EXPECT_EQ(ages.bins.front().high, 1259U);
    EXPECT_EQ(ages.bins.front().echoes, 2U);
    EXPECT_EQ(ages.bins.front().causes[static_cast<std::size_t>(Cause::kRouted)], 1U);
    EXPECT_EQ(ages.bins[4].echoes, 0U);
    EXPECT_EQ(ages.bins.back().echoes, 1U);
    EXPECT_EQ(ages.youngest, 1024U);
    EXPECT_EQ(ages.oldest, 4096U);
}

TEST(AgeHistogram, quantiles_are_the_oldest_age_of_their_bin) {
    AgeHistogram histogram;
    for (unsigned i = 0; i < 999; ++i) {
        histogram.add(10'000, Cause::kIdentical);
    }
    histogram.add(1'000'000, Cause::kIdentical);
    const Ages ages = histogram.ages();
    EXPECT_EQ(ages.p50, age_bin_low(age_bin(10'000) + 1) - 1);
    EXPECT_EQ(ages.p999, ages.p50);
    EXPECT_EQ(quantile(ages, 1), 1'000'000U);
}

}  // namespace
}  // namespace unecho::analyze
