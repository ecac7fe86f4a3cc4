// SPDX-License-Identifier: BSD-3-Clause
#include "captures/dedup/results/echo_pairs.h"

#include <gtest/gtest.h>

#include "unit/captures/folder.h"

namespace unecho::dedup {
namespace {

class PairsFile : public testing::Test {
  protected:
    // Return what is written for these inputs.
    [[nodiscard]] std::string written(const std::vector<std::string>& inputs,
                                      const std::vector<EchoPair>& pairs) const {
        auto file = *EchoPairFile::create(folder_.file("pairs.csv"), inputs);
        EXPECT_TRUE(file->write(pairs));
        EXPECT_TRUE(file->close());
        return folder_.get("pairs.csv");
    }

    capture::Folder folder_;
};

constexpr EchoPair kKnown{
    .number = 9, .file = 1, .known = true, .original_file = 0, .original = 7, .age = -30};
constexpr EchoPair kUnknown{.number = 10, .file = 0};

TEST_F(PairsFile, several_inputs_are_named_and_quoted_and_one_is_not) {
    EXPECT_EQ(written({"a.pcap"}, {kKnown, kUnknown}), "echo,original,age_ns\n9,7,-30\n10,,\n");
    EXPECT_EQ(written({"a,\"b\".pcap", "c.pcap"}, {kKnown, kUnknown}),
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
        EXPECT_EQ(written({name, "b"}, {kUnknown, kKnown}),
                  "echo,original,age_ns,echo_file,original_file\n10,,," + cell + ",\n9,7,-30,b," +
                      cell + "\n")
            << "numbers stay numbers";
    }
}

}  // namespace
}  // namespace unecho::dedup
