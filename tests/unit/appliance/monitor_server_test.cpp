// SPDX-License-Identifier: BSD-3-Clause
// The monitoring socket with clients that send requests, leave, read nothing, or never finish.
#include "appliance/stats/monitor_server.h"

#include <atomic>
#include <cstring>
#include <filesystem>
#include <new>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace unecho::appliance {
namespace {

class MonitorServerTest : public testing::Test {
  protected:
    MonitorServerTest() {
        std::string pattern =
            (std::filesystem::temp_directory_path() / "unecho-server-XXXXXX").string();
        folder_ = mkdtemp(pattern.data());
        address_.sun_family = AF_UNIX;
        std::strncpy(address_.sun_path, (folder_ + "/socket").c_str(),
                     sizeof(address_.sun_path) - 1);
        listening_ = Descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0));
        EXPECT_EQ(
            bind(listening_.get(), reinterpret_cast<const sockaddr*>(&address_), sizeof(address_)),
            0);
        EXPECT_EQ(listen(listening_.get(), 64), 0);
        auto started = MonitorServer::start(listening_.get(), [this](std::string_view command) {
            ++answers_;
            if (command == "break") {
                throw std::bad_alloc();
            }
            return "<" + std::string(command) + ">" + std::string(long_, 'x');
        });
        EXPECT_TRUE(started);
        server_ = std::move(*started);
    }
    ~MonitorServerTest() override {
        server_.reset();
        std::filesystem::remove_all(folder_);
    }

    [[nodiscard]] Descriptor client() const {
        Descriptor out(socket(AF_UNIX, SOCK_SEQPACKET, 0));
        EXPECT_EQ(
            connect(out.get(), reinterpret_cast<const sockaddr*>(&address_), sizeof(address_)), 0);
        return out;
    }
    // Return "" if the connection was closed.
    static std::string heard(const Descriptor& client) {
        std::string text(32768, ' ');
        const ssize_t n = recv(client.get(), text.data(), text.size(), 0);
        return n <= 0 ? "" : text.substr(0, static_cast<std::size_t>(n));
    }
    static void ask(const Descriptor& client, const std::string& command) {
        send(client.get(), command.data(), command.size(), MSG_NOSIGNAL);
    }

    std::string folder_;
    sockaddr_un address_{};
    Descriptor listening_;
    std::atomic<unsigned> answers_{0};
    std::atomic<std::size_t> long_{0};
    std::unique_ptr<MonitorServer> server_;
};

TEST_F(MonitorServerTest, greets_as_dpdk_does_and_answers_each_message) {
    const Descriptor one = client();
    const Descriptor other = client();
    for (const Descriptor* each : {&one, &other}) {
        const auto greeting = nlohmann::json::parse(heard(*each));
        EXPECT_EQ(greeting["max_output_len"], 16384);
        EXPECT_EQ(greeting["pid"], getpid());
    }
    ask(one, "a");
    ask(other, "b");
    ask(one, "c");
    EXPECT_EQ(heard(other), "<b>");
    EXPECT_EQ(heard(one), "<a>");
    EXPECT_EQ(heard(one), "<c>");
}

TEST_F(MonitorServerTest, closes_the_one_too_many_and_has_room_again) {
    std::vector<Descriptor> all;
    for (std::size_t i = 0; i < MonitorServer::kMaxClients; ++i) {
        all.push_back(client());
        EXPECT_NE(heard(all.back()), "");
    }
    EXPECT_EQ(heard(client()), "");
    all.pop_back();
    // The server notices only after a while that a client has left.
    for (std::string greeting; greeting.empty();) {
        all.push_back(client());
        greeting = heard(all.back());
    }
}

TEST_F(MonitorServerTest, drops_who_asks_too_long_a_question) {
    const Descriptor one = client();
    heard(one);
    ask(one, std::string(1025, 'x'));
    EXPECT_EQ(heard(one), "");
    EXPECT_EQ(answers_, 0U);
}

TEST_F(MonitorServerTest, drops_who_takes_no_answers_and_serves_the_others) {
    long_ = 16'000;
    const Descriptor greedy = client();
    for (;;) {  // until it is dropped: the server does not wait for it
        if (send(greedy.get(), "x", 1, MSG_NOSIGNAL) < 0) {
            break;
        }
    }
    const Descriptor other = client();
    heard(other);
    ask(other, "b");
    EXPECT_EQ(heard(other).substr(0, 3), "<b>");
}

TEST_F(MonitorServerTest, goes_on_where_an_answer_could_not_be_made) {
    const Descriptor one = client();
    heard(one);
    ask(one, "break");
    EXPECT_EQ(heard(one), "");
    const Descriptor other = client();
    heard(other);
    ask(other, "b");
    EXPECT_EQ(heard(other), "<b>");
}

// With clients connected, and amid their requests.
TEST_F(MonitorServerTest, ends_at_once) {
    const Descriptor one = client();
    heard(one);
    ask(one, "a");
    server_.reset();
    while (!heard(one).empty()) {
    }
}

}  // namespace
}  // namespace unecho::appliance
