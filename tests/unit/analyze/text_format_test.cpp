// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/report/text_format.h"

#include <gtest/gtest.h>

namespace unecho::analyze {
namespace {

TEST(Words, dates_are_utc) {
    EXPECT_EQ(date_text(0), "1970-01-01 00:00:00");
    EXPECT_EQ(date_text(1'700'000'000 * kSecond), "2023-11-14 22:13:20");
    EXPECT_EQ(date_text(1'763'736'003'999'999'999), "2025-11-21 14:40:03");
    EXPECT_EQ(date_text(18'446'744'073'709'551'615U), "2554-07-21 23:34:33");
}

TEST(Words, bar_shows_that_there_is_something) {
    EXPECT_EQ(bar(0, 10), "");
    EXPECT_EQ(bar(1e-9, 10), "#");
    EXPECT_EQ(bar(0.5, 10), "#####");
    EXPECT_EQ(bar(2, 10), "##########");
}

TEST(Words, long_text_is_wrapped) {
    std::string text;
    for (unsigned i = 0; i < 40; ++i) {
        text += "word ";
    }
    const std::string out = wrapped(text, "# ");
    EXPECT_EQ(out.find("# word word"), 0U);
    EXPECT_EQ(out.back(), '\n');
    EXPECT_EQ(out.find('\n'), 96U);
    EXPECT_EQ(wrapped("", "# "), "");
}

TEST(Words, a_number_stays_with_its_unit) {
    EXPECT_EQ(wrapped("it takes 30.8 ms now", "", 14), "it takes\n30.8 ms now\n");
    EXPECT_EQ(wrapped("it takes 30.8 ms, or 5 kB.", "", 21), "it takes 30.8 ms, or\n5 kB.\n");
    EXPECT_EQ(wrapped("of the 30 packets", "", 9), "of the 30\npackets\n");
    EXPECT_EQ(wrapped("is 7", "", 3), "is\n7\n");
}

}  // namespace
}  // namespace unecho::analyze
