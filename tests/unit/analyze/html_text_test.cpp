// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/report/html/html_text.h"

#include <gtest/gtest.h>

namespace unecho::analyze {
namespace {

// Replace no-break spaces by plain ones, to be readable.
std::string plain(std::string text) {
    for (std::size_t at = text.find("\xC2\xA0"); at != std::string::npos;
         at = text.find("\xC2\xA0")) {
        text.replace(at, 2, " ");
    }
    return text;
}

TEST(HtmlText, escape_leaves_no_markup) {
    EXPECT_EQ(escape("<a b=\"c\" d='e'>&"), "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;");
    EXPECT_EQ(escape("plain \xC3\xA4 \xE2\x82\xAC \xF0\x9F\x99\x82\n"),
              "plain \xC3\xA4 \xE2\x82\xAC \xF0\x9F\x99\x82\n");
}

TEST(HtmlText, escape_replaces_what_is_no_text) {
    const std::string no = "\xEF\xBF\xBD";
    EXPECT_EQ(escape("a\xff"
                     "b"),
              "a" + no + "b");
    EXPECT_EQ(escape(std::string_view("\0\x1b\x7f", 3)), no + no + no);
    EXPECT_EQ(escape("\xE2\x80\xAE"), no);   // changes the direction of text
    EXPECT_EQ(escape("\xC0\xBC"), no + no);  // an overlong "<"
    EXPECT_EQ(escape(std::string_view("\xE2\x82\xAC").substr(0, 2)), no + no);  // cut off
}

TEST(HtmlText, counts_are_grouped) {
    EXPECT_EQ(count_text(0), "0");
    EXPECT_EQ(count_text(999), "999");
    EXPECT_EQ(count_text(1000), "1,000");
    EXPECT_EQ(count_text(18'446'744'073'709'551'615U), "18,446,744,073,709,551,615");
    EXPECT_EQ(plain(count_text(1, "packet")), "1 packet");
    EXPECT_EQ(plain(count_text(2, "packet")), "2 packets");
}

TEST(HtmlText, only_all_is_100_percent) {
    EXPECT_EQ(plain(share_text(0, 10)), "0 %");
    EXPECT_EQ(plain(share_text(0, 0)), "0 %");
    EXPECT_EQ(plain(share_text(10, 10)), "100 %");
    EXPECT_EQ(plain(share_text(9'999'999, 10'000'000)), "over 99.9 %");
    EXPECT_EQ(plain(share_text(999, 1000)), "99.9 %");
    EXPECT_EQ(plain(share_text(354, 1000)), "35.4 %");
    EXPECT_EQ(plain(share_text(34, 100'000)), "0.034 %");
    EXPECT_EQ(plain(share_text(1, 10'000'000)), "under 0.001 %");
}

TEST(HtmlText, durations_change_their_unit_in_time) {
    EXPECT_EQ(plain(duration_text(0)), "0 ns");
    EXPECT_EQ(plain(duration_text(999)), "999 ns");
    EXPECT_EQ(plain(duration_text(1000)), "1 \xC2\xB5s");
    EXPECT_EQ(plain(duration_text(12'340)), "12.3 \xC2\xB5s");
    EXPECT_EQ(plain(duration_text(999'499)), "999 \xC2\xB5s");
    EXPECT_EQ(plain(duration_text(999'500)), "1 ms");
    EXPECT_EQ(plain(duration_text(50 * kMillisecond)), "50 ms");
    EXPECT_EQ(plain(duration_text(59 * kSecond)), "59 s");
    EXPECT_EQ(plain(duration_text(100 * kSecond)), "1 min 40 s");
    EXPECT_EQ(plain(duration_text(200 * kSecond)), "3 min 20 s");
    EXPECT_EQ(plain(duration_text(5400 * kSecond)), "1 h 30 min");
    EXPECT_EQ(plain(duration_text(7200 * kSecond)), "2 h");
    EXPECT_EQ(plain(duration_text(3 * 86'400 * kSecond)), "3 d");
}

TEST(HtmlText, sizes_are_of_powers_of_1000) {
    EXPECT_EQ(plain(bytes_text(0)), "0 B");
    EXPECT_EQ(plain(bytes_text(999)), "999 B");
    EXPECT_EQ(plain(bytes_text(16'499'890)), "16.5 MB");
    EXPECT_EQ(plain(bytes_text(999'600)), "1 MB");
}

TEST(HtmlText, rates_have_three_digits) {
    EXPECT_EQ(plain(packet_rate_text(7636.1)), "7.64 kpps");
    EXPECT_EQ(plain(packet_rate_text(0.5)), "0.5 pps");
    EXPECT_EQ(plain(bit_rate_text(685.87e6)), "686 Mbit/s");
}

TEST(HtmlText, coordinates_are_short) {
    EXPECT_EQ(coordinate(0), "0");
    EXPECT_EQ(coordinate(-0.001), "0");
    EXPECT_EQ(coordinate(12.5), "12.5");
    EXPECT_EQ(coordinate(100), "100");
    EXPECT_EQ(coordinate(0.0 / 0.0), "0");
}

}  // namespace
}  // namespace unecho::analyze
