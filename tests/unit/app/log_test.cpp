// SPDX-License-Identifier: BSD-3-Clause
#include "terminal/log.h"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

namespace unecho::app {
namespace {

constexpr std::uint64_t kUnix = 1'795'399'412 * kSecond + 123'456'789;
constexpr LogFormatter::Form kPlain{};

LogLine link(unsigned port, Severity severity = Severity::kWarning) {
    return {severity, "link", "port \"tap-" + std::to_string(port) + "\": link down"};
}

TEST(LogFormatter, is_a_line_with_the_programs_name) {
    LogFormatter text(kPlain);
    EXPECT_EQ(text.of(link(1), 0, kUnix), "unecho: port \"tap-1\": link down\n");
    EXPECT_EQ(text.of({"running"}, 0, kUnix), "unecho: running\n");
}

TEST(LogFormatter, has_a_priority_on_each_line_for_the_journal) {
    LogFormatter text({LogFormat::kText, true});
    EXPECT_EQ(text.of(link(1), 0, kUnix), "<4>unecho: port \"tap-1\": link down\n");
    EXPECT_EQ(text.of({"running"}, 0, kUnix), "<6>unecho: running\n");
    EXPECT_EQ(text.of({Severity::kNotice, "link", "up"}, 0, kUnix), "<5>unecho: up\n");
    EXPECT_EQ(text.of({Severity::kError, "error", "one\n  two"}, 0, kUnix),
              "<3>unecho: one\n<3>  two\n");
}

TEST(LogFormatter, is_an_object_a_line_as_json) {
    LogFormatter text({LogFormat::kJson, false});
    const std::string line = text.of({Severity::kError, "error", "a \"b\"\nc \xff\x1b"}, 0, kUnix);
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    const auto json = nlohmann::json::parse(line);
    EXPECT_EQ(json, nlohmann::json({{"time", "2026-11-23T02:03:32.123456Z"},
                                    {"severity", "error"},
                                    {"event", "error"},
                                    {"message", "a \"b\"\nc \\xff\\x1b"}}));
    LogFormatter journal({LogFormat::kJson, true});
    EXPECT_EQ(journal.of({"x"}, 0, kUnix).find("<6>{\"time\":"), 0U);
}

// Lines that differ in numbers only are alike, whatever lines come between them.
TEST(LogFormatter, of_more_alike_than_are_written_tells_how_many_there_were) {
    LogFormatter text(kPlain);
    Nanoseconds now = 5 * kSecond;
    for (unsigned i = 0; i < kAlikeAtOnce; ++i) {
        EXPECT_NE(text.of(link(i), ++now, kUnix), "");
    }
    for (unsigned i = 0; i < 17; ++i) {
        EXPECT_EQ(text.of(link(100 + i), ++now, kUnix), "");
        EXPECT_EQ(text.of({"other " + std::string(i + 1, 'x')}, ++now, kUnix),
                  "unecho: other " + std::string(i + 1, 'x') + "\n");
    }
    now = 5 * kSecond + 1 + kAlikeWithin;
    EXPECT_EQ(text.of(link(7), now - 1, kUnix), "");
    EXPECT_EQ(text.of(link(8), now, kUnix),
              "unecho: port \"tap-8\": link down (18 more like it before)\n");
    EXPECT_EQ(text.of(link(9), now, kUnix), "unecho: port \"tap-9\": link down\n");
}

TEST(LogFormatter, tells_of_what_was_counted_with_the_next_line_of_any_kind_or_at_the_end) {
    for (const bool at_the_end : {false, true}) {
        LogFormatter text(kPlain);
        for (unsigned i = 0; i < kAlikeAtOnce + 3; ++i) {
            text.of(link(i), kSecond, kUnix);
        }
        const std::string counted = "unecho: port \"tap-12\": link down (2 more like it before)\n";
        if (at_the_end) {
            EXPECT_EQ(text.rest(kUnix), counted);
        } else {
            EXPECT_EQ(text.of({"other"}, kSecond + kAlikeWithin, kUnix),
                      counted + "unecho: other\n");
        }
        EXPECT_EQ(text.rest(kUnix), "");
    }
}

TEST(LogFormatter, of_the_number_counted_is_a_field_of_json) {
    LogFormatter text({LogFormat::kJson, false});
    for (unsigned i = 0; i < kAlikeAtOnce + 3; ++i) {
        text.of(link(i), 0, kUnix);
    }
    const auto json = nlohmann::json::parse(text.of(link(1), kAlikeWithin, kUnix));
    EXPECT_EQ(json["more_like_it"], 3);
    EXPECT_EQ(json["event"], "link");
}

TEST(LogFormatter, leaves_no_note_of_a_start_out) {
    LogFormatter text(kPlain);
    for (unsigned i = 0; i < 5 * kAlikeAtOnce; ++i) {
        EXPECT_NE(text.of({Severity::kNotice, kNote, "note: " + std::to_string(i)}, 0, kUnix), "");
    }
}

// Memory is bounded for any number of kinds of lines, and no line is lost for that.
TEST(LogFormatter, writes_all_of_more_kinds_than_it_tells_apart) {
    LogFormatter text(kPlain);
    for (unsigned i = 0; i < 1000; ++i) {
        EXPECT_NE(text.of({std::string(i + 1, 'x')}, 0, kUnix), "");
    }
    EXPECT_NE(text.of(link(1), 0, kUnix), "");
}

TEST(Journal, is_known_by_device_and_inode) {
    struct stat status {};
    ASSERT_EQ(fstat(STDERR_FILENO, &status), 0);
    const std::string own = std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
    EXPECT_TRUE(is_journal(STDERR_FILENO, own.c_str()));
    EXPECT_FALSE(is_journal(STDERR_FILENO, (own + "1").c_str()));
    EXPECT_FALSE(is_journal(STDERR_FILENO, ""));
    EXPECT_FALSE(is_journal(STDERR_FILENO, nullptr));
    EXPECT_FALSE(is_journal(-1, own.c_str()));
}

}  // namespace
}  // namespace unecho::app
