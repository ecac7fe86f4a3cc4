// SPDX-License-Identifier: BSD-3-Clause
#include "commands/expected_appliances.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace unecho::app {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

class ExpectedAppliancesTest : public testing::Test {
  protected:
    ExpectedAppliancesTest() {
        std::string pattern = (fs::temp_directory_path() / "unecho-expected-XXXXXX").string();
        folder_ = mkdtemp(pattern.data());
    }
    ~ExpectedAppliancesTest() override { fs::remove_all(folder_); }

    void write(const std::string& file, const std::string& end = "") const {
        std::ofstream(folder_ + "/" + file)
            << "[[port]]\nname = \"a\"\ndevice = \"net_null0\"\n"
               "[[port]]\nname = \"b\"\ndevice = \"net_null1\"\n"
               "[[filter]]\nname = \"echo\"\nwindow = \"50ms\"\nrate = \"1Mpps\"\n"
               "[[route]]\nfrom = [\"a\"]\nto = \"b\"\nfilter = \"echo\"\n"
            << end;
    }
    Names names(ExpectedAppliances& expected) {
        lines_.clear();
        return expected.names([&](const std::string& line) { lines_.push_back(line); });
    }

    std::string folder_;
    Names lines_;
};

TEST_F(ExpectedAppliancesTest, are_those_named) {
    auto expected = ExpectedAppliances::parse({"taps", "link", "taps"});
    ASSERT_TRUE(expected);
    EXPECT_EQ(names(*expected), (Names{"link", "taps"}));
    EXPECT_TRUE(ExpectedAppliances::parse({}));
    for (const char* wrong : {"", ".taps"}) {
        const auto refused = ExpectedAppliances::parse({wrong});
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, Errc::kConfig);
        EXPECT_NE(refused.error().context.find("--expect"), std::string::npos);
        EXPECT_NE(refused.error().context.find("allowed"), std::string::npos);
    }
    EXPECT_FALSE(ExpectedAppliances::parse({folder_ + "/none"}));
    EXPECT_FALSE(ExpectedAppliances::parse(Names(65, "taps")));
}

TEST_F(ExpectedAppliancesTest, are_those_of_the_configurations_in_a_folder_as_it_is_now) {
    write("taps.toml");
    write("other.toml", "[run]\nname = \"link\"\n");
    write("prefixed.toml", "[eal]\nargs = [\"--no-huge\", \"--file-prefix=own\"]\n");
    write("notes.txt");
    write(".hidden.toml");
    auto expected = ExpectedAppliances::parse({folder_ + "/", "more"});
    ASSERT_TRUE(expected);
    EXPECT_EQ(names(*expected), (Names{"link", "more", "own", "taps"}));
    EXPECT_EQ(lines_, Names());
    fs::remove(folder_ + "/taps.toml");
    write("other.toml", "[run]\nname = \"another-link\"\n");
    EXPECT_EQ(names(*expected), (Names{"another-link", "more", "own"}));
}

TEST_F(ExpectedAppliancesTest, with_a_wrong_configuration_go_by_the_files_name) {
    write("taps.toml", "unknown = 1\n");
    auto expected = ExpectedAppliances::parse({folder_ + "/"});
    ASSERT_TRUE(expected);
    EXPECT_EQ(names(*expected), Names{"taps"});
    ASSERT_EQ(lines_.size(), 1U);
    EXPECT_NE(lines_[0].find(folder_ + "/taps.toml: is no valid configuration"), std::string::npos);
    EXPECT_EQ(names(*expected), Names{"taps"});
    EXPECT_EQ(lines_, Names()) << "it is said once";
    fs::rename(folder_, folder_ + "-moved");
    EXPECT_EQ(names(*expected), Names{"taps"});
    EXPECT_EQ(lines_.size(), 1U);
    fs::rename(folder_ + "-moved", folder_);
}

}  // namespace
}  // namespace unecho::app
