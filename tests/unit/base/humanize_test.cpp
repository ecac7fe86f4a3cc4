// SPDX-License-Identifier: BSD-3-Clause
#include "base/humanize.h"

#include <gtest/gtest.h>

namespace unecho {
namespace {

TEST(Words, percent_is_0_or_100_only_where_it_is) {
    EXPECT_EQ(percent(0), "0 %");
    EXPECT_EQ(percent(1), "100 %");
    EXPECT_EQ(percent(0.123), "12.3 %");
    EXPECT_EQ(percent(0.0123), "1.23 %");
    EXPECT_EQ(percent(0.000034), "0.0034 %");
    EXPECT_EQ(percent(1e-9), "under 0.001 %");
    EXPECT_EQ(percent(0.9999999), "99.999 %");
}

TEST(Words, times_have_three_digits) {
    EXPECT_EQ(brief_duration(0), "0 ns");
    EXPECT_EQ(brief_duration(999), "999 ns");
    EXPECT_EQ(brief_duration(1234567), "1.23 ms");
    EXPECT_EQ(brief_duration(12345678), "12.3 ms");
    EXPECT_EQ(brief_duration(50 * kMillisecond), "50 ms");
}

TEST(Words, long_times_are_minutes_hours_and_days) {
    constexpr Nanoseconds kHour = 3600 * kSecond;
    EXPECT_EQ(brief_duration(59 * kSecond), "59 s");
    EXPECT_EQ(brief_duration(60 * kSecond - 1), "1 min");
    EXPECT_EQ(brief_duration(100 * kSecond), "1 min 40 s");
    EXPECT_EQ(brief_duration(1000 * kSecond), "16 min 40 s");
    EXPECT_EQ(brief_duration(kHour - 1), "1 h");
    EXPECT_EQ(brief_duration(kHour), "1 h");
    EXPECT_EQ(brief_duration(2 * kHour + 30 * 60 * kSecond), "2 h 30 min");
    EXPECT_EQ(brief_duration(48 * kHour), "2 days");
    EXPECT_EQ(brief_duration(4'290'000'000 * kSecond), "49,653 days");
    EXPECT_EQ(brief_duration(INT64_MAX), "106,752 days");
}

TEST(Words, one_is_singular) {
    EXPECT_EQ(format_quantity(0, "packet"), "0 packets");
    EXPECT_EQ(format_quantity(1, "packet"), "1 packet");
    EXPECT_EQ(format_quantity(1234, "packet"), "1,234 packets");
    EXPECT_EQ(format_quantity(1, "echo"), "1 echo");
    EXPECT_EQ(format_quantity(2, "echo"), "2 echoes");
    EXPECT_EQ(format_quantity(1, "copy"), "1 copy");
    EXPECT_EQ(format_quantity(2, "more copy"), "2 more copies");
}

TEST(Words, bytes_have_a_unit) {
    EXPECT_EQ(brief_size(0), "0 B");
    EXPECT_EQ(brief_size(999), "999 B");
    EXPECT_EQ(brief_size(1000), "1.00 kB");
    EXPECT_EQ(brief_size(123'456'789), "123 MB");
    EXPECT_EQ(brief_size(UINT64_MAX), "18.4 EB");
}

}  // namespace
}  // namespace unecho
