// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/eal/stale_socket.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "appliance/eal/ports/port.h"
#include "own_namespaces.h"

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

// A memif server's greeting to a client that connects, sent a little late as by a busy server.
class Greeter {
  public:
    explicit Greeter(int socket) : thread_([this, socket] { greet(socket); }) {}
    ~Greeter() { end(); }
    Greeter(const Greeter&) = delete;
    Greeter& operator=(const Greeter&) = delete;

    // Greet a client that has connected by now, and no later one.
    void end() {
        ended_ = true;
        if (thread_.joinable()) {
            thread_.join();
        }
    }
    [[nodiscard]] bool connected() const { return connected_; }
    [[nodiscard]] bool greeted() const { return greeted_; }

  private:
    void greet(int socket) {
        pollfd wait{socket, POLLIN, 0};
        for (bool last = false; poll(&wait, 1, kBetweenLooks) <= 0; last = ended_) {
            if (last) {
                return;
            }
        }
        const int peer = accept(socket, nullptr, nullptr);
        connected_ = peer >= 0;
        usleep(20'000);
        greeted_ = send(peer, "hello", 5, MSG_NOSIGNAL) == 5;
        close(peer);
    }

    static constexpr int kBetweenLooks = 10;  // poll interval in milliseconds
    std::atomic<bool> ended_{false};
    std::atomic<bool> connected_{false};
    std::atomic<bool> greeted_{false};
    std::thread thread_;
};

// DPDK 22.11 panics if the client that it greets has gone.
TEST_F(StaleSocket, that_somebody_listens_on_stays_and_is_not_touched) {
    bind_to(SOCK_SEQPACKET);
    ASSERT_EQ(listen(socket_, 1), 0);
    Greeter greeter(socket_);
    EXPECT_FALSE(eal::remove_stale_socket(path_));
    EXPECT_TRUE(there());
    greeter.end();
    EXPECT_FALSE(greeter.connected());
}

// Like a socket of another network namespace, this one is not in the kernel's list by this name.
TEST_F(StaleSocket, that_somebody_listens_on_under_another_name_stays_and_is_waited_for) {
    const std::string here = std::filesystem::current_path();
    std::filesystem::current_path(folder_);
    bind_to(SOCK_SEQPACKET, "a.sock");
    std::filesystem::current_path(here);
    ASSERT_EQ(listen(socket_, 1), 0);
    Greeter greeter(socket_);
    EXPECT_FALSE(eal::remove_stale_socket(path_, 60 * kSecond));
    EXPECT_TRUE(there());
    greeter.end();
    EXPECT_TRUE(greeter.connected());
    EXPECT_TRUE(greeter.greeted());
}

TEST_F(StaleSocket, of_somebody_who_answers_nobody_stays) {
    const std::string here = std::filesystem::current_path();
    std::filesystem::current_path(folder_);
    bind_to(SOCK_SEQPACKET, "a.sock");
    std::filesystem::current_path(here);
    ASSERT_EQ(listen(socket_, 1), 0);
    for (int i = 0; i < 3; ++i) {  // until the socket's backlog is full
        EXPECT_FALSE(eal::remove_stale_socket(path_, 5 * kMillisecond));
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

// --- before a memif port is opened --------------------------------------------------------------

using Args = std::vector<std::pair<std::string, std::string>>;

int made = 0;  // a device that DPDK failed to make keeps its name

// Open the device and close it again. Return true if the earlier socket still exists.
bool survives_a_memif(const std::string& path, Args args) {
    struct stat before {};
    EXPECT_EQ(lstat(path.c_str(), &before), 0);
    Device device;
    device.name = "net_memif_left" + std::to_string(++made);
    device.args = std::move(args);
    const auto port = eal::Port::open("memif", device);
    EXPECT_TRUE(port) << port.error().context;
    struct stat after {};
    return lstat(path.c_str(), &after) == 0 && after.st_ino == before.st_ino &&
           after.st_ctim.tv_nsec == before.st_ctim.tv_nsec;
}

// DPDK uses the last value of a repeated argument.
TEST_F(StaleSocket, of_a_memif_is_removed_by_its_server_alone) {
    struct Case {
        Args args;  // the socket's path is appended
        bool stays;
    };
    const Case cases[] = {
        {{{"role", "server"}, {"socket-abstract", "no"}}, false},
        {{{"role", "client"}, {"role", "server"}, {"socket-abstract", "no"}}, false},
        {{{"socket-abstract", "yes"}, {"role", "master"}, {"socket-abstract", "no"}}, false},
        {{{"socket-abstract", "no"}}, true},
        {{{"role", "server"}}, true},
        {{{"role", "server"}, {"role", "client"}, {"socket-abstract", "no"}}, true},
        {{{"role", "server"}, {"socket-abstract", "no"}, {"socket-abstract", "yes"}}, true},
    };
    const std::string name = path_;
    for (const Case& c : cases) {
        // DPDK keeps the abstract name of a server that has ended, so each case has its own.
        path_ = name + std::to_string(&c - cases);
        bind_to(SOCK_SEQPACKET);
        leave();
        Args args = c.args;
        args.emplace_back("socket", path_);
        EXPECT_EQ(survives_a_memif(path_, args), c.stays) << "case " << &c - cases;
        std::filesystem::remove(path_);
    }
}

// DPDK listens until the process ends. Outside an own namespace, other test programs that run at
// this time would use the same path.
TEST_F(StaleSocket, of_a_memif_server_that_is_told_no_path_is_that_of_memif) {
    bool survived = true;
    if (!in_own_namespaces([&] {
            const std::string path = "/run/memif.sock";
            bind_to(SOCK_SEQPACKET, path);
            leave();
            survived = survives_a_memif(path, {{"role", "server"}, {"socket-abstract", "no"}});
        })) {
        GTEST_SKIP() << kNoNamespaces;
    }
    EXPECT_FALSE(survived);
}

}  // namespace
}  // namespace unecho::test
