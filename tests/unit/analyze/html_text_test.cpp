// SPDX-License-Identifier: BSD-3-Clause
#include "captures/view/html/text.h"

#include <gtest/gtest.h>

namespace unecho::view {
namespace {

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

TEST(HtmlText, coordinates_are_short) {
    EXPECT_EQ(coordinate(0), "0");
    EXPECT_EQ(coordinate(-0.001), "0");
    EXPECT_EQ(coordinate(12.5), "12.5");
    EXPECT_EQ(coordinate(100), "100");
    EXPECT_EQ(coordinate(0.0 / 0.0), "0");
}

}  // namespace
}  // namespace unecho::view
