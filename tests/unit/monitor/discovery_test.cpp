// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/client/discovery.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace unecho::monitor {
namespace {

namespace fs = std::filesystem;

class PlacesTest : public testing::Test {
  protected:
    PlacesTest() {
        std::string pattern = (fs::temp_directory_path() / "unecho-places-XXXXXX").string();
        root_ = mkdtemp(pattern.data());
    }
    ~PlacesTest() override { fs::remove_all(root_); }

    void make_socket(const std::string& path) {
        const fs::path at = root_ / path;
        fs::create_directories(at.parent_path());
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, at.c_str(), sizeof(address.sun_path) - 1);
        const int number = socket(AF_UNIX, SOCK_SEQPACKET, 0);
        ASSERT_EQ(bind(number, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
        close(number);
    }

    [[nodiscard]] std::string at(const std::string& path) const { return (root_ / path).string(); }

    fs::path root_;
};

TEST_F(PlacesTest, are_folders_with_a_socket_by_name) {
    make_socket("a/two/dpdk_telemetry.v2");
    make_socket("a/one/dpdk_telemetry.v2");
    make_socket("a/one/dpdk_telemetry.v2:1");
    make_socket("a/other/mp_socket");
    fs::create_directories(root_ / "a/file");
    std::ofstream(root_ / "a/file/dpdk_telemetry.v2") << "no socket";
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
    std::ofstream(root_ / "plain") << "";
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
