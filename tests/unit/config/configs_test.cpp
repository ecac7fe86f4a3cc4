// SPDX-License-Identifier: BSD-3-Clause
// Every file of configs/ is valid in the directory that has its captures.
#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "config/load.h"
#include "support/source_root.h"
#include "working_directory.h"

namespace unecho::config {
namespace {

std::vector<std::string> config_files() {
    std::vector<std::string> names;
    const std::string configs = test::source_root() + "/configs";
    for (const auto& entry : std::filesystem::directory_iterator(configs)) {
        if (entry.path().extension() == ".toml") {
            names.push_back(entry.path().filename().string());
        }
    }
    std::sort(names.begin(), names.end());
    return names;
}

class Configs : public testing::TestWithParam<std::string> {};

TEST_P(Configs, file_loads) {
    const WorkingDirectory directory;
    const std::string path = test::source_root() + "/configs/" + GetParam();
    const LoadResult result = load_file(path);
    EXPECT_TRUE(result.has_value()) << to_text(result.error(), path);
}

TEST_P(Configs, file_begins_with_what_it_is_for_and_names_itself) {
    const std::string text = read_source_file("configs/" + GetParam());
    EXPECT_TRUE(text.starts_with("# "));
    EXPECT_NE(text.find("unecho run configs/" + GetParam()), std::string::npos);
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
    std::string name = info.param.substr(0, info.param.find('.'));
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

INSTANTIATE_TEST_SUITE_P(files, Configs, testing::ValuesIn(config_files()), test_name);

// They open only the tunnels that the mirror uses, because any sender can send tunnels.
TEST(ConfigFiles, mirrors_look_into_tunnels_and_drop_copies_of_packets) {
    const WorkingDirectory directory;
    for (const std::string& name : config_files()) {
        const LoadResult result = load_file(test::source_root() + "/configs/" + name);
        ASSERT_TRUE(result.has_value()) << name;
        for (const Filter& filter : result->filters) {
            EXPECT_EQ(filter.tunnels.any(), name.starts_with("mirror-")) << name;
            EXPECT_NE(filter.tunnels, packet::EncapsulationSet::all()) << name;
            EXPECT_TRUE(!filter.tunnels.any() || filter.key == packet::KeyMode::kPacket) << name;
        }
    }
}

TEST(ConfigFiles, links_have_a_packet_filter_for_each_direction) {
    const WorkingDirectory directory;
    for (const char* name : {"link-af-packet.toml", "link-af-xdp.toml", "nics-rss.toml"}) {
        const LoadResult result = load_file(test::source_root() + "/configs/" + name);
        ASSERT_TRUE(result.has_value()) << name;
        ASSERT_EQ(result->routes.size(), 2U);
        EXPECT_NE(result->routes[0].filter, result->routes[1].filter);
        EXPECT_EQ(result->routes[0].from, std::vector<PortIndex>{result->routes[1].to});
        EXPECT_EQ(result->routes[1].from, std::vector<PortIndex>{result->routes[0].to});
        for (const Filter& filter : result->filters) {
            EXPECT_EQ(filter.key, packet::KeyMode::kPacket);
        }
    }
}

}  // namespace
}  // namespace unecho::config
