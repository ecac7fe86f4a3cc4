// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/server/listening_socket.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace unecho::monitor {
namespace {

namespace fs = std::filesystem;

TEST(ListenAddress, is_an_address_and_a_port) {
    for (const auto& [text, url, loopback] :
         {std::tuple{"127.0.0.1:9797", "http://127.0.0.1:9797/", true},
          {"127.8.9.1:1", "http://127.8.9.1:1/", true},
          {"0.0.0.0:65535", "http://0.0.0.0:65535/", false},
          {"192.0.2.7:80", "http://192.0.2.7:80/", false},
          {"[::1]:9797", "http://[::1]:9797/", true},
          {"[::]:9797", "http://[::]:9797/", false},
          {"[fe80::1]:0", "http://[fe80::1]:0/", false}}) {
        const auto address = ListenAddress::parse(text);
        ASSERT_TRUE(address) << text;
        EXPECT_EQ(address->url(), url);
        EXPECT_EQ(address->loopback, loopback) << text;
    }
}

TEST(ListenAddress, nothing_else_is_guessed) {
    for (const std::string& text : std::vector<std::string>{
             "unix:", "unix:" + std::string(108, 'x'), "", ":", "9797", ":9797", "localhost:9797",
             "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:+1", "127.0.0.1:1x",
             "127.0.0.1 :1", "::1:9797", "[::1]", "[127.0.0.1]:1", "[::1:9797", "256.0.0.1:1"}) {
        const auto address = ListenAddress::parse(text);
        ASSERT_FALSE(address) << text;
        EXPECT_EQ(address.error().code, Errc::kInvalidArgument);
        EXPECT_EQ(address.error().context, "\"" + text +
                                               "\"; allowed: an address of this host and a port, "
                                               "as in 127.0.0.1:9797 or [::1]:9797, or unix:PATH "
                                               "with a path of up to 107 bytes");
    }
}

TEST(ListenAddress, is_a_path_of_a_unix_socket) {
    const std::string longest = "/" + std::string(106, 'x');
    for (const std::string& path :
         {std::string("/run/unecho-serve/socket"), std::string("127.0.0.1:1"), longest}) {
        const auto address = ListenAddress::parse("unix:" + path);
        ASSERT_TRUE(address) << path;
        EXPECT_EQ(address->path, path);
        EXPECT_TRUE(address->is_unix());
        EXPECT_FALSE(address->loopback);
        EXPECT_EQ(address->url(), "unix:" + path);
    }
}

// tests/e2e/serve_test.py tests who may connect, and what a killed server leaves.
class UnixSocket : public testing::Test {
  protected:
    UnixSocket() {
        std::string folder = testing::TempDir() + "unecho-XXXXXX";
        folder_ = mkdtemp(folder.data());
        address_ = *ListenAddress::parse("unix:" + (folder_ / "socket").string());
    }
    ~UnixSocket() override { fs::remove_all(folder_); }

    [[nodiscard]] std::string error() const {
        const auto socket = ListeningSocket::open(address_);
        return socket ? "none" : socket.error().context;
    }
    // Leave the socket's file, as a killed process does.
    void abandon() const {
        const fs::path other = folder_ / "other";
        {
            const auto socket = ListeningSocket::open(address_);
            ASSERT_TRUE(socket) << socket.error().context;
            fs::create_hard_link(address_.path, other);
        }
        fs::rename(other, address_.path);
    }

    fs::path folder_;
    ListenAddress address_;
};

TEST_F(UnixSocket, leaves_nothing_behind_when_its_group_is_refused) {
    constexpr id_t kNobody = 65534;
    address_.group = gid_t{54321};  // a group without members
    const bool root = geteuid() == 0;
    if (root) {
        ASSERT_EQ(chown(folder_.c_str(), kNobody, kNobody), 0);
        ASSERT_EQ(seteuid(kNobody), 0);
    }
    const std::string said = error();
    if (root) {
        ASSERT_EQ(seteuid(0), 0);
    }
    EXPECT_EQ(said, "unix:" + address_.path +
                        ": not permitted; its group can be one that this user is in");
    EXPECT_FALSE(fs::exists(address_.path));
}

TEST_F(UnixSocket, takes_the_place_of_nothing_else) {
    const std::string taken = "unix:" + address_.path + ": is there already, and is no socket";
    std::ofstream(address_.path) << "precious";
    EXPECT_EQ(error(), taken);
    EXPECT_EQ(fs::file_size(address_.path), 8U);
    fs::rename(address_.path, folder_ / "file");
    for (const char* const target : {"file", "nowhere"}) {
        fs::create_symlink(folder_ / target, address_.path);
        EXPECT_EQ(error(), taken);
        fs::remove(address_.path);
    }
    EXPECT_FALSE(fs::exists(folder_ / "nowhere"));
    fs::create_directory(address_.path);
    EXPECT_EQ(error(), taken);
    fs::remove(address_.path);
    if (geteuid() == 0) {
        abandon();
        ASSERT_EQ(lchown(address_.path.c_str(), 65534, 65534), 0);
        EXPECT_EQ(error(), "unix:" + address_.path +
                               ": is there already, and belongs to user 65534; this process runs "
                               "as 0");
        EXPECT_TRUE(fs::exists(fs::symlink_status(address_.path)));
    }
}

TEST_F(UnixSocket, does_not_remove_what_took_its_place) {
    {
        const auto socket = ListeningSocket::open(address_);
        ASSERT_TRUE(socket) << socket.error().context;
        fs::remove(address_.path);
        std::ofstream(address_.path) << "another one's";
    }
    EXPECT_TRUE(fs::exists(address_.path));
}

TEST_F(UnixSocket, needs_a_folder) {
    address_.path = (folder_ / "none" / "socket").string();
    EXPECT_EQ(error(), "unix:" + address_.path + ": No such file or directory");
}

}  // namespace
}  // namespace unecho::monitor
