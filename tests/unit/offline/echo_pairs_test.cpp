// SPDX-License-Identifier: BSD-3-Clause
#include "captures/dedup/results/echo_pairs.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace unecho::dedup {
namespace {

class PairsFile : public testing::Test {
  protected:
    void TearDown() override { std::filesystem::remove(path_); }

    [[nodiscard]] std::string text() const {
        std::ifstream file(path_);
        std::ostringstream text;
        text << file.rdbuf();
        return text.str();
    }

    std::string path_ = testing::TempDir() + "unecho-pairs-" + std::to_string(getpid()) + ".csv";
};

constexpr EchoPair kKnown{
    .number = 9, .file = 1, .known = true, .original_file = 0, .original = 7, .age = -30};
constexpr EchoPair kUnknown{.number = 10, .file = 0};

TEST_F(PairsFile, one_input_is_not_named) {
    const std::vector<std::string> inputs{"a.pcap"};
    auto pairs = *EchoPairFile::create(path_, inputs);
    ASSERT_TRUE(pairs->write(std::vector{kKnown, kUnknown}));
    ASSERT_TRUE(pairs->close());
    EXPECT_EQ(text(), "echo,original,age_ns\n9,7,-30\n10,,\n");
}

TEST_F(PairsFile, several_inputs_are_named_and_quoted) {
    const std::vector<std::string> inputs{"a,\"b\".pcap", "c.pcap"};
    auto pairs = *EchoPairFile::create(path_, inputs);
    ASSERT_TRUE(pairs->write(std::vector{kKnown, kUnknown}));
    ASSERT_TRUE(pairs->close());
    EXPECT_EQ(text(),
              "echo,original,age_ns,echo_file,original_file\n"
              "9,7,-30,c.pcap,\"a,\"\"b\"\".pcap\"\n"
              "10,,,\"a,\"\"b\"\".pcap\",\n");
}

// A spreadsheet runs a cell that begins with one of these characters.
TEST_F(PairsFile, names_are_no_formulas_and_hold_no_control_characters) {
    const std::vector<std::pair<std::string, std::string>> cells{
        {"=1+1", "'=1+1"},   {"+1", "'+1"},
        {"-1", "'-1"},       {"@SUM(1),2", "\"'@SUM(1),2\""},
        {"\t=1", "\\x09=1"}, {"\r\n=1", "\\x0d\\x0a=1"},
        {"a=1", "a=1"},      {"\xff\x1b", "\\xff\\x1b"},
        {"'=1", "'=1"},      {"", ""}};
    for (const auto& [name, cell] : cells) {
        const std::vector<std::string> inputs{name, "b"};
        auto pairs = *EchoPairFile::create(path_, inputs);
        ASSERT_TRUE(pairs->write(std::vector{kUnknown, kKnown}));
        ASSERT_TRUE(pairs->close());
        EXPECT_EQ(text(), "echo,original,age_ns,echo_file,original_file\n10,,," + cell +
                              ",\n9,7,-30,b," + cell + "\n")
            << "numbers stay numbers";
    }
}

}  // namespace
}  // namespace unecho::dedup
