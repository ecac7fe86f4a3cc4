// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/shared_flows/cluster_client.h"

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/descriptor.h"

namespace unecho::shared_flows {
namespace {

// The only master of a cluster, on loopback. It has the slots from 0 to `last`.
class OneMaster {
  public:
    explicit OneMaster(unsigned last) : last_(last), listener_(socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        EXPECT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
        EXPECT_EQ(listen(listener_.get(), 8), 0);
        getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
        at_ = {"127.0.0.1", ntohs(address.sin_port)};
        thread_ = std::thread([this] { serve(); });
    }
    ~OneMaster() {
        stop_ = true;
        thread_.join();
    }
    OneMaster(const OneMaster&) = delete;
    OneMaster& operator=(const OneMaster&) = delete;

    [[nodiscard]] const Endpoint& at() const { return at_; }
    void assign_up_to(unsigned last) { last_ = last; }

  private:
    void serve() {
        std::vector<Descriptor> clients;
        while (!stop_) {
            std::vector<pollfd> all{{listener_.get(), POLLIN, 0}};
            for (const Descriptor& client : clients) {
                all.push_back({client.get(), POLLIN, 0});
            }
            if (poll(all.data(), all.size(), 10) <= 0) {
                continue;
            }
            for (std::size_t i = 0; i < clients.size(); ++i) {
                if (all[i + 1].revents != 0 && !answer(clients[i])) {
                    clients[i] = Descriptor();
                }
            }
            std::erase_if(clients, [](const Descriptor& client) { return client.get() < 0; });
            if (all[0].revents != 0) {
                clients.emplace_back(accept(listener_.get(), nullptr, nullptr));
            }
        }
    }
    // Queries are short, and the client waits for each answer: one read has whole queries.
    bool answer(const Descriptor& client) {
        std::array<char, 65536> bytes{};
        const ssize_t got = recv(client.get(), bytes.data(), bytes.size(), 0);
        if (got <= 0) {
            return false;
        }
        const std::string asked(bytes.data(), static_cast<std::size_t>(got));
        std::string said;
        for (std::size_t at = asked.find('*'); at != std::string::npos;
             at = asked.find("\r\n*", at + 1)) {
            const std::string query = asked.substr(at, asked.find("\r\n*", at + 1) - at);
            said += query.find("SLOTS") != std::string::npos           ? slots()
                    : query.find("\r\nFCALL\r\n") != std::string::npos ? "*2\r\n$0\r\n\r\n:1\r\n"
                                                                       : "+OK\r\n";
        }
        return send(client.get(), said.data(), said.size(), MSG_NOSIGNAL) ==
               static_cast<ssize_t>(said.size());
    }
    [[nodiscard]] std::string slots() const {
        return "*1\r\n*3\r\n:0\r\n:" + std::to_string(last_) +
               "\r\n*2\r\n$9\r\n127.0.0.1\r\n:" + std::to_string(at_.port) + "\r\n";
    }

    std::atomic<unsigned> last_;
    std::atomic<bool> stop_{false};
    Descriptor listener_;
    Endpoint at_;
    std::thread thread_;
};

TEST(ClusterClient, counts_the_masters_that_an_incomplete_map_has) {
    OneMaster master(kSlots / 2 - 1);
    ClusterClient client(
        *Layout::make({.name = "half",
                       .window = 10 * kSecond,
                       .flows = 1000,
                       .bound = 1e-6,
                       .refresh = false,
                       .key = "flow"},
                      hash::ChachaKey{}),
        {.nodes = {master.at()}, .user = "", .password = "", .timeout = 60 * kSecond}, {},
        [](const LogLine&) {});
    EXPECT_EQ(client.counters().unassigned, kTags);
    while (client.counters().answering == 0) {
        client.step(kMillisecond);
    }
    EXPECT_EQ(client.counters().masters, 1U);
    EXPECT_EQ(client.counters().unassigned, kTags / 2);
    const Status early = client.contact(0);
    ASSERT_FALSE(early) << "half of the flows have no master";
    EXPECT_EQ(early.error().code, Errc::kIo);
    master.assign_up_to(kSlots - 1);
    EXPECT_TRUE(client.contact(3600 * kSecond));
    EXPECT_EQ(client.counters().masters, 1U);
    EXPECT_EQ(client.counters().unassigned, 0U);
}

}  // namespace
}  // namespace unecho::shared_flows
