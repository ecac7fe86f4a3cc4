// SPDX-License-Identifier: BSD-3-Clause
#include "config/message_text.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace unecho::config {
namespace {

const std::vector<std::string_view> kNames{"window", "rate", "max_false_drop", "first"};

TEST(Nearest, mistake_of_each_kind_is_found) {
    EXPECT_EQ(nearest("windw", kNames), "window");    // one missing
    EXPECT_EQ(nearest("windoww", kNames), "window");  // one too many
    EXPECT_EQ(nearest("winbow", kNames), "window");   // one changed
    EXPECT_EQ(nearest("wnidow", kNames), "window");   // two swapped
    EXPECT_EQ(nearest("max-false-drops", kNames), "max_false_drop");
    EXPECT_EQ(nearest("window", kNames), "window");
}

TEST(Nearest, word_that_resembles_nothing_finds_nothing) {
    EXPECT_EQ(nearest("zzzz", kNames), "");
    EXPECT_EQ(nearest("", kNames), "");
    EXPECT_EQ(nearest(std::string(100'000, 'w'), kNames), "");
    EXPECT_EQ(nearest("window", {}), "");
}

TEST(Nearest, half_of_the_characters_may_differ_and_no_more) {
    EXPECT_EQ(nearest("raXX", kNames), "rate");
    EXPECT_EQ(nearest("rXXX", kNames), "");
}

TEST(Nearest, swap_is_cheaper_than_two_changes) {
    const std::vector<std::string_view> names{"abdd", "abdc"};
    EXPECT_EQ(nearest("abcd", names), "abdd");  // a change costs as much as a swap: the first
    const std::vector<std::string_view> swapped{"xxcd", "badc"};
    EXPECT_EQ(nearest("abcd", swapped), "xxcd");  // two changes, two swaps: the first named
}

TEST(Suggestion, is_a_question_or_nothing) {
    EXPECT_EQ(suggestion("rat", kNames), "; did you mean \"rate\"?");
    EXPECT_EQ(suggestion("zzzz", kNames), "");
}

TEST(InQuotes, long_text_is_cut_between_characters) {
    EXPECT_EQ(in_quotes("abc"), "\"abc\"");
    EXPECT_EQ(in_quotes(std::string(80, 'x')), "\"" + std::string(80, 'x') + "\"");
    EXPECT_EQ(in_quotes(std::string(81, 'x')), "\"" + std::string(77, 'x') + "...\"");
    EXPECT_EQ(in_quotes(std::string(76, 'x') + "\xc3\xa9yyy"),
              "\"" + std::string(76, 'x') + "...\"");
}

// A command-line argument may be anything, and a TOML string may hold control characters.
TEST(InQuotes, text_is_escaped) {
    EXPECT_EQ(in_quotes("a\nb\x7f\x1f"), "\"a\\x0ab\\x7f\\x1f\"");
    EXPECT_EQ(in_quotes("caf\xc3\xa9"), "\"caf\xc3\xa9\"");
    EXPECT_EQ(in_quotes("\xc2\x9b"
                        "31m\xff"),
              R"("\xc2\x9b31m\xff")");
    EXPECT_LE(in_quotes(std::string(10'000, '\x80')).size(), 82U);
}

TEST(ListInQuotes, long_list_is_cut) {
    EXPECT_EQ(list_in_quotes(kNames), R"("window", "rate", "max_false_drop", "first")");
    EXPECT_EQ(list_in_quotes({}), "");
    const std::vector<std::string_view> many(33, "x");
    EXPECT_TRUE(list_in_quotes(many).ends_with("\"x\", ..."));
    EXPECT_FALSE(list_in_quotes({many.data(), 32}).ends_with("..."));
}

TEST(DurationText, whole_minutes_and_hours_are_written_as_such) {
    EXPECT_EQ(duration_text(0), "0s");
    EXPECT_EQ(duration_text(kMicrosecond), "1us");
    EXPECT_EQ(duration_text(90 * kSecond), "90s");
    EXPECT_EQ(duration_text(60 * kSecond), "1min");
    EXPECT_EQ(duration_text(3600 * kSecond), "1h");
}

}  // namespace
}  // namespace unecho::config
