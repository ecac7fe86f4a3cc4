// SPDX-License-Identifier: BSD-3-Clause
#include "eal/stale_socket.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace unecho::test {
namespace {

class StaleSocket : public testing::Test {
  protected:
    StaleSocket() {
        std::string folder = (std::filesystem::temp_directory_path() / "unecho-XXXXXX").string();
        folder_ = mkdtemp(folder.data());
        path_ = folder_ + "/a.sock";
    }
    ~StaleSocket() override {
        close(socket_);
        std::filesystem::remove_all(folder_);
    }

    void bind_to(int kind) { bind_to(kind, path_); }
    void bind_to(int kind, const std::string& path) {
        socket_ = socket(AF_UNIX, kind, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path, path.data(), path.size());
        ASSERT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    }
    void leave() { close(std::exchange(socket_, -1)); }
    [[nodiscard]] bool there() const {
        return std::filesystem::exists(std::filesystem::symlink_status(path_));
    }

    std::string folder_;
    std::string path_;
    int socket_ = -1;
};

TEST_F(StaleSocket, that_nobody_holds_is_removed) {
    bind_to(SOCK_SEQPACKET);
    ASSERT_EQ(listen(socket_, 1), 0);
    leave();
    EXPECT_TRUE(eal::remove_stale_socket(path_));
    EXPECT_FALSE(there());
}

TEST_F(StaleSocket, that_somebody_listens_on_stays) {
    bind_to(SOCK_SEQPACKET);
    ASSERT_EQ(listen(socket_, 1), 0);
    for (int i = 0; i < 3; ++i) {  // until its backlog is full
        EXPECT_FALSE(eal::remove_stale_socket(path_));
    }
    EXPECT_TRUE(there());
}

TEST_F(StaleSocket, of_another_kind_stays) {
    bind_to(SOCK_DGRAM);
    EXPECT_FALSE(eal::remove_stale_socket(path_));
    EXPECT_TRUE(there());
}

TEST_F(StaleSocket, that_is_a_file_a_link_or_nothing_stays) {
    EXPECT_FALSE(eal::remove_stale_socket(path_));
    EXPECT_FALSE(eal::remove_stale_socket(std::string(300, 'x')));
    std::ofstream(path_) << "kept";
    EXPECT_FALSE(eal::remove_stale_socket(path_));
    EXPECT_TRUE(there());
    std::filesystem::remove(path_);
    const std::string target = folder_ + "/b.sock";
    bind_to(SOCK_SEQPACKET, target);
    leave();
    std::filesystem::create_symlink(target, path_);
    EXPECT_FALSE(eal::remove_stale_socket(path_));
    EXPECT_TRUE(there());
    EXPECT_TRUE(std::filesystem::exists(target));
}

}  // namespace
}  // namespace unecho::test
