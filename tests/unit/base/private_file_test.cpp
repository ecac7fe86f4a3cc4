// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/private_file.h"

#include <cstdio>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace unecho {
namespace {

class PrivateFile : public testing::Test {
  protected:
    ~PrivateFile() override { std::remove(path_.c_str()); }

    void write(const std::string& text) const {
        std::ofstream(path_) << text;
        chmod(path_.c_str(), 0600);
    }
    [[nodiscard]] std::string error() const {
        const auto line = read_private_line(path_);
        return line ? "none" : line.error().context;
    }

    const std::string path_ = testing::TempDir() + "unecho-private-" + std::to_string(getpid());
};

TEST_F(PrivateFile, has_its_first_line_read) {
    for (const auto& [text, line] : {std::pair{"", ""},
                                     {"word", "word"},
                                     {"two words \n", "two words "},
                                     {"word\r\n", "word"},
                                     {"word\nanother\n", "word"}}) {
        write(text);
        const auto read = read_private_line(path_);
        ASSERT_TRUE(read) << text;
        EXPECT_EQ(*read, line);
    }
}

TEST_F(PrivateFile, is_refused_unless_it_is_its_owner_s_alone) {
    write("secret\n");
    for (const mode_t mode : {0640U, 0620U, 0610U, 0604U, 0602U, 0601U, 0666U}) {
        chmod(path_.c_str(), mode);
        EXPECT_EQ(error(), path_ + ": others than its owner may use it; chmod 600");
    }
    chmod(path_.c_str(), 0400);
    EXPECT_EQ(error(), "none");
}

TEST_F(PrivateFile, is_a_regular_file) {
    EXPECT_EQ(error(), path_ + ": No such file or directory");
    ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);  // without a writer, opening it would block
    EXPECT_EQ(error(), path_ + ": is no file");
    std::remove(path_.c_str());
    ASSERT_EQ(mkdir(path_.c_str(), 0700), 0);
    EXPECT_EQ(error(), path_ + ": is no file");
}

}  // namespace
}  // namespace unecho
