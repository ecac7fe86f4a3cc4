// SPDX-License-Identifier: BSD-3-Clause
#include "base/utf8.h"

#include <gtest/gtest.h>

namespace unecho {
namespace {

TEST(Utf8, characters_have_their_length_and_nothing_else_has) {
    EXPECT_EQ(utf8_length("a"), 1U);
    EXPECT_EQ(utf8_length("\xC3\xBC"), 2U);
    EXPECT_EQ(utf8_length("\xE2\x82\xAC"), 3U);
    EXPECT_EQ(utf8_length("\xF0\x9F\x98\x80"), 4U);
    for (const char* bad : {"\x80", "\xC0\x80", "\xC3", "\xC3z", "\xE0\x80\x80", "\xED\xA0\x80",
                            "\xF4\x90\x80\x80", "\xFF"}) {
        EXPECT_EQ(utf8_length(bad), 0U) << bad;
    }
}

TEST(Utf8, printable_text_cannot_speak_to_a_terminal) {
    EXPECT_EQ(printable("\xC3\xBC"
                        "ber.pcap"),
              "\xC3\xBC"
              "ber.pcap");
    EXPECT_EQ(printable("a\x1B[31m\n\x7F"), "a?[31m??");
    EXPECT_EQ(printable("\xC2\x9B"
                        "31m"),
              "?31m");
    EXPECT_EQ(printable("a\xFFz"), "a?z");
    EXPECT_EQ(printable(""), "");
}

TEST(Utf8, escaped_text_is_still_known) {
    EXPECT_EQ(escaped("\xC3\xBC.pcap"), "\xC3\xBC.pcap");
    EXPECT_EQ(escaped("a\x1B[31m\n\x7F"), "a\\x1b[31m\\x0a\\x7f");
    EXPECT_EQ(escaped("\xC2\x9B"), "\\xc2\\x9b");
    EXPECT_EQ(escaped("a\xFFz"), "a\\xffz");
}

// Right-to-left text hides the end of a name: "gpj.exe" is shown for "exe.jpg".
TEST(Utf8, text_cannot_turn_its_direction_or_end_its_line) {
    for (const char* bad : {"\xE2\x80\xA8", "\xE2\x80\xAE", "\xE2\x81\xA6", "\xE2\x81\xA9"}) {
        EXPECT_EQ(printable(bad), "?");
        EXPECT_EQ(escaped(bad).size(), 12U) << escaped(bad);
    }
    EXPECT_EQ(escaped("\xE2\x80\xA7\xE2\x80\xAF\xE2\x81\xAA"),
              "\xE2\x80\xA7\xE2\x80\xAF\xE2\x81\xAA");
}

TEST(Utf8, escaping_twice_is_escaping_once) {
    std::string all;
    for (int byte = 0; byte < 256; ++byte) {
        all += byte == '\n' ? 'n' : static_cast<char>(byte);
    }
    for (auto* escape : {escaped, escaped_lines, escaped_ascii}) {
        const std::string once = escape(all);
        EXPECT_EQ(escape(once), once);
        EXPECT_EQ(printable(once).find('?'), once.find('?')) << "nothing else to replace";
    }
}

TEST(Utf8, lines_stay_lines_where_they_may) {
    EXPECT_EQ(escaped_lines("a\x1B\nb\xFF\r\n"), "a\\x1b\nb\\xff\\x0d\n");
}

TEST(Utf8, ascii_holds_nothing_else) {
    EXPECT_EQ(escaped_ascii("key \xD0\xBA\xFF\t\x7F\n"), "key \\xd0\\xba\\xff\\x09\\x7f\n");
}

TEST(Utf8, truncated_text_keeps_whole_characters_and_says_so) {
    EXPECT_EQ(truncated("123456", 6), "123456");
    EXPECT_EQ(truncated("1234567", 6), "123...");
    EXPECT_EQ(truncated("12\xC3\xA4"
                        "567",
                        6),
              "12...");
    EXPECT_EQ(truncated(std::string(100, '\x80'), 40), "...") << "no character begins in it";
}

TEST(Utf8, valid_text_stays_and_other_bytes_are_replaced) {
    EXPECT_EQ(valid_utf8("\xC3\xBC\n\x1B"), "\xC3\xBC\n\x1B");
    EXPECT_EQ(valid_utf8("a\xFF\xC3"), "a\xEF\xBF\xBD\xEF\xBF\xBD");
    EXPECT_EQ(valid_utf8("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(Utf8, shortened_text_keeps_its_ends_and_whole_characters) {
    EXPECT_EQ(shortened("", 12), "");
    EXPECT_EQ(shortened("123456789012", 12), "123456789012");
    EXPECT_EQ(shortened("1234567890123", 12), "123...890123");
    std::string umlauts;
    for (unsigned i = 0; i < 100; ++i) {
        umlauts += "\xC3\xA4";
        for (std::size_t most = 9; most < 30; ++most) {
            const std::string out = shortened(umlauts, most);
            EXPECT_LE(out.size(), most);
            EXPECT_EQ(printable(out), out);
        }
    }
    EXPECT_LE(shortened(std::string(100, '\x80'), 40).size(), 40U);
}

}  // namespace
}  // namespace unecho
