// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/directory.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace unecho {
namespace {

TEST(Folder, names_are_sorted_and_those_of_all_that_is_in_it) {
    const std::string folder = testing::TempDir() + "unecho-folder";
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder + "/b");
    EXPECT_EQ(list_directory(folder), std::vector<std::string>{"b"});
    for (const char* name : {"c", ".hidden", "a", "..."}) {
        std::ofstream(folder + "/" + name) << name;
    }
    EXPECT_EQ(list_directory(folder), (std::vector<std::string>{"...", ".hidden", "a", "b", "c"}));
    EXPECT_EQ(list_directory(folder + "/b"), std::vector<std::string>());
    EXPECT_EQ(list_directory(folder + "/a").error(), ENOTDIR);
    EXPECT_EQ(list_directory(folder + "/d").error(), ENOENT);
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace unecho
