// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/client/discovery.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "fake_appliance.h"

namespace unecho::monitor {
namespace {

namespace fs = std::filesystem;

class PlacesTest : public WithFolder {
  protected:
    void make_socket(const std::string& path) const {
        fs::create_directories(fs::path(at(path)).parent_path());
        close(listen_at(at(path)));
    }

    [[nodiscard]] std::string at(const std::string& path) const { return folder_ + "/" + path; }
};

TEST_F(PlacesTest, are_folders_with_a_socket_by_name) {
    make_socket("a/two/dpdk_telemetry.v2");
    make_socket("a/one/dpdk_telemetry.v2");
    make_socket("a/one/dpdk_telemetry.v2:1");
    make_socket("a/other/mp_socket");
    fs::create_directories(at("a/file"));
    std::ofstream(at("a/file/dpdk_telemetry.v2")) << "no socket";
    make_socket("b/one/dpdk_telemetry.v2");
    const TelemetrySockets places = find_telemetry_sockets({at("a"), at("b"), at("none")});
    EXPECT_TRUE(places.problems.empty());
    std::vector<std::string> names;
    for (const TelemetrySocket& place : places.found) {
        names.push_back(place.name);
        EXPECT_TRUE(fs::is_socket(place.socket));
    }
    EXPECT_EQ(names, (std::vector<std::string>{"one", "one:1", "two", at("b/one")}));
}

TEST_F(PlacesTest, that_are_not_folders_are_told) {
    std::ofstream(at("plain")) << "";
    const TelemetrySockets places = find_telemetry_sockets({at("plain")});
    EXPECT_TRUE(places.found.empty());
    ASSERT_EQ(places.problems.size(), 1U);
    EXPECT_EQ(places.problems[0].find(at("plain") + ": Not a directory"), 0U);
}

TEST_F(PlacesTest, are_looked_for_where_dpdk_makes_them) {
    setenv("RUNTIME_DIRECTORY", "/somewhere", 1);
    EXPECT_EQ(runtime_folders(), std::vector<std::string>{"/somewhere/dpdk"});
    unsetenv("RUNTIME_DIRECTORY");
    EXPECT_EQ(runtime_folders().front(), "/run/dpdk");
}

}  // namespace
}  // namespace unecho::monitor
