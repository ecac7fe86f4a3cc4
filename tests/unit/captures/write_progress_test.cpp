// SPDX-License-Identifier: BSD-3-Clause
#include "captures/output/write_progress.h"

#include <array>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace unecho::capture {
namespace {

std::string told(std::size_t room = 1000) {
    std::array<char, 1000> text{};
    const std::size_t size = format_write_progress(std::span(text).first(room));
    EXPECT_LE(size, room);
    return {text.data(), size};
}

// Return the text after the count of files: other tests of this program may have finished some.
std::string told_of_streams() {
    const std::string text = told();
    const std::size_t files = text.find(" finished");
    return files == std::string::npos ? text : text.substr(files + 9);
}

TEST(WriteProgress, says_what_each_stream_got) {
    EXPECT_EQ(told_of_streams(), "");
    const int out = register_output("standard output");
    const int pipe = register_output("pipe");
    begin_write(out, 5000);
    EXPECT_EQ(told_of_streams(),
              "; standard output got 0 bytes (up to 5,000 more were on their "
              "way); pipe got 0 bytes");
    end_write(out, 4096);
    count_packets_written(out, 1234567);
    end_write(pipe, 999);
    EXPECT_EQ(written(out).packets, 1234567U);
    EXPECT_EQ(told_of_streams(),
              "; standard output got 1,234,567 packets, 4,096 bytes; pipe got 999 bytes");
    forget_output(out);
    EXPECT_EQ(told_of_streams(), "; pipe got 999 bytes");
    forget_output(pipe);
    EXPECT_EQ(told_of_streams(), "");
}

TEST(WriteProgress, what_does_not_fit_is_left_out) {
    const int long_name = register_output(std::string(1000, 'x'));
    for (const std::size_t room : {0U, 1U, 7U, 100U}) {
        EXPECT_EQ(told(room), told().substr(0, room));
    }
    forget_output(long_name);
    std::array<int, 20> slots{};
    for (int& slot : slots) {
        slot = register_output("x");
    }
    EXPECT_EQ(slots.back(), -1);
    begin_write(-1, 1);
    end_write(-1, 1);
    count_packets_written(-1, 1);
    EXPECT_EQ(written(-1).bytes, 0U);
    for (const int slot : slots) {
        forget_output(slot);
    }
    EXPECT_EQ(told_of_streams(), "");
}

TEST(WriteProgress, finished_files_are_counted) {
    count_finished_file();
    EXPECT_NE(told().find(" finished"), std::string::npos);
}

}  // namespace
}  // namespace unecho::capture
