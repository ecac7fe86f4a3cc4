// SPDX-License-Identifier: BSD-3-Clause
#include "analyze/ages.h"

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

TEST(AgeBins, are_four_to_an_octave) {
    EXPECT_EQ(age_bin(2048) - age_bin(1024), 4U);
    EXPECT_EQ(age_bin_low(age_bin(1024) + 1), 1280U);
}

TEST(AgeHistogram, counts_by_cause_without_holes) {
    AgeHistogram histogram;
    histogram.add(1024, Cause::kRouted);
    histogram.add(1030, Cause::kIdentical);
    histogram.add(4096, Cause::kRouted);
    const Ages ages = histogram.ages();
    ASSERT_EQ(ages.bins.size(), 9U);
    EXPECT_EQ(ages.bins.front().low, 1024U);
    EXPECT_EQ(ages.bins.front().high, 1280U);
    EXPECT_EQ(ages.bins.front().echoes, 2U);
    EXPECT_EQ(ages.bins.front().causes[static_cast<std::size_t>(Cause::kRouted)], 1U);
    EXPECT_EQ(ages.bins[4].echoes, 0U);
    EXPECT_EQ(ages.bins.back().echoes, 1U);
    EXPECT_EQ(ages.youngest, 1024U);
    EXPECT_EQ(ages.oldest, 4096U);
}

TEST(AgeHistogram, quantiles_are_reached_by_the_upper_end_of_their_bin) {
    AgeHistogram histogram;
    for (unsigned i = 0; i < 999; ++i) {
        histogram.add(10'000, Cause::kIdentical);
    }
    histogram.add(1'000'000, Cause::kIdentical);
    const Ages ages = histogram.ages();
    EXPECT_EQ(ages.p50, age_bin_low(age_bin(10'000) + 1));
    EXPECT_EQ(ages.p999, ages.p50);
    EXPECT_EQ(quantile(ages, 1), 1'000'000U);
}

TEST(AgeHistogram, without_echoes_there_are_no_bins) {
    const Ages ages = AgeHistogram().ages();
    EXPECT_TRUE(ages.bins.empty());
    EXPECT_EQ(ages.oldest, 0U);
    EXPECT_EQ(ages.p999, 0U);
}

}  // namespace
}  // namespace unecho::analyze
