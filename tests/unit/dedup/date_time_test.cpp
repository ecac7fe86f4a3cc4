// SPDX-License-Identifier: BSD-3-Clause
#include "captures/dedup/date_time.h"

#include <cstdlib>
#include <ctime>

#include <gtest/gtest.h>

namespace unecho::dedup {
namespace {

class MomentTest : public testing::Test {
  protected:
    MomentTest() {
        ::setenv("TZ", "JST-9", 1);
        ::tzset();
    }
};

TEST_F(MomentTest, dates_and_seconds_are_read) {
    constexpr Nanoseconds kWhole = 1'600'000'001 * kSecond;
    const std::pair<const char*, Nanoseconds> cases[] = {
        {"1600000001", kWhole},
        {"1600000001.5", kWhole + kSecond / 2},
        {"1600000001,000000001", kWhole + 1},
        {"0", 0},
        {"2020-09-13T12:26:41Z", kWhole},
        {"2020-9-13T12:26:41Z", kWhole},
        {"2020-09-13T12:26:41.25Z", kWhole + kSecond / 4},
        {"2020-09-13T14:26:41+02:00", kWhole},
        {"2020-09-13T14:26:41+0200", kWhole},
        {"2020-09-13T14:26:41+02", kWhole},
        {"2020-09-13T11:56:41.5-00:30", kWhole + kSecond / 2},
        {"2020-09-13T21:26:41", kWhole},
        {"2020-09-13 21:26:41.000000007", kWhole + 7},
        {"2020-02-29T00:00:00Z", 1'582'934'400 * kSecond},
        {"2016-12-31T23:59:60Z", 1'483'228'800 * kSecond},
    };
    for (const auto& [text, time] : cases) {
        const auto parsed = parse_date_time(text);
        ASSERT_TRUE(parsed) << text;
        EXPECT_EQ(*parsed, time) << text;
    }
}

TEST_F(MomentTest, what_is_no_time_is_refused) {
    for (const char* text : {"",
                             "x",
                             "-5",
                             "1600000001x",
                             "1600000001.",
                             "1.1234567891",
                             "2020-09-13",
                             "2020-09-13T12:26Z",
                             "2020-09-13T12:26:41Zx",
                             "2020-13-13T12:26:41Z",
                             "2021-02-29T00:00:00Z",
                             "2020-09-13T24:00:00Z",
                             "2020-09-13T12:60:00Z",
                             "2020-09-13T12:26:41.Z",
                             "2020-09-13T12:26:41+",
                             "2020-09-13T12:26:41+1:00",
                             "1969-12-31T23:59:59Z",
                             "20000000000",
                             "2600-01-01T00:00:00Z",
                             "20200913T122641Z"}) {
        const auto parsed = parse_date_time(text);
        ASSERT_FALSE(parsed) << text << " " << *parsed;
        EXPECT_EQ(parsed.error().code, Errc::kInvalidArgument);
        EXPECT_NE(parsed.error().context.find("allowed: 2026-01-02T03:04:05.678Z"),
                  std::string::npos);
    }
}

}  // namespace
}  // namespace unecho::dedup
