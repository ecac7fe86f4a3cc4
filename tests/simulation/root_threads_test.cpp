// SPDX-License-Identifier: BSD-3-Clause
// A shared flow store with its own threads, as in an appliance. Workers query and learn through
// queues, one thread queries the cluster, others resolve names, and one reads counters. The cluster
// is one master in this process, which answers as redis_function.h does. Sometimes it answers late,
// not at all, or with the errors of a cluster in trouble. A thread sanitizer checks everything that
// they share. UNECHO_THREAD_SECONDS sets the duration.
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <list>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_set>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include "appliance/dataplane/shared_flows_link.h"
#include "appliance/shared_flows/shared_flows.h"
#include "appliance/topology/shared_flows_feed.h"
#include "base/os/persistent_file.h"
#include "filters/hash/digest.h"

namespace unecho::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

Clock::duration how_long() {
    const char* const seconds = std::getenv("UNECHO_THREAD_SECONDS");
    return std::chrono::seconds(seconds == nullptr ? 2 : std::atoi(seconds));
}

// --- the cluster -------------------------------------------------------------------------------

// Remove a complete command from `text` and return its words (Redis protocol).
std::optional<std::vector<std::string>> take_command(std::string& text) {
    std::size_t at = 0;
    const auto number = [&](char kind) -> std::optional<std::size_t> {
        const std::size_t end = text.find("\r\n", at);
        if (end == std::string::npos) {
            return std::nullopt;
        }
        std::size_t out = 0;
        EXPECT_EQ(text[at], kind);
        std::from_chars(text.data() + at + 1, text.data() + end, out);
        at = end + 2;
        return out;
    };
    const auto words = number('*');
    std::vector<std::string> out;
    for (std::size_t i = 0; words && i < *words; ++i) {
        const auto length = number('$');
        if (!length || text.size() < at + *length + 2) {
            return std::nullopt;
        }
        out.push_back(text.substr(at, *length));
        at += *length + 2;
    }
    if (!words) {
        return std::nullopt;
    }
    text.erase(0, at);
    return out;
}

class Master {
  public:
    explicit Master(unsigned calm) : calm_(calm), listener_(socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        EXPECT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
        EXPECT_EQ(listen(listener_.get(), 16), 0);
        getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
        port_ = ntohs(address.sin_port);
        thread_ = std::thread([this] { serve(); });
    }
    Master(const Master&) = delete;
    Master& operator=(const Master&) = delete;
    Master(Master&&) = delete;
    Master& operator=(Master&&) = delete;
    ~Master() {
        stop_ = true;
        thread_.join();
    }

    // A name, so that it has to be resolved.
    [[nodiscard]] shared_flows::Endpoint at() const { return {"localhost", port_}; }

  private:
    struct Client {
        Descriptor socket;
        std::string heard = {};
    };

    void serve() {
        while (!stop_) {
            std::vector<pollfd> polled{{listener_.get(), POLLIN, 0}};
            for (const Client& client : clients_) {
                polled.push_back({client.socket.get(), POLLIN, 0});
            }
            if (poll(polled.data(), polled.size(), 10) <= 0) {
                continue;
            }
            std::size_t i = 1;
            for (auto client = clients_.begin(); client != clients_.end(); ++i) {
                const bool stays = polled[i].revents == 0 || hear(*client);
                client = stays ? std::next(client) : clients_.erase(client);
            }
            if (polled[0].revents != 0) {
                clients_.push_back({Descriptor(accept(listener_.get(), nullptr, nullptr))});
            }
        }
    }
    // Return false if the client has left.
    bool hear(Client& client) {
        std::array<char, 65536> bytes{};
        const ssize_t got = recv(client.socket.get(), bytes.data(), bytes.size(), 0);
        if (got <= 0) {
            return false;
        }
        client.heard.append(bytes.data(), static_cast<std::size_t>(got));
        while (const auto words = take_command(client.heard)) {
            const std::optional<std::string> answer = answer_to(*words);
            if (!answer || send(client.socket.get(), answer->data(), answer->size(),
                                MSG_NOSIGNAL) != static_cast<ssize_t>(answer->size())) {
                return false;
            }
        }
        return true;
    }
    // Return nothing to close the connection.
    std::optional<std::string> answer_to(const std::vector<std::string>& words) {
        if (words[0] == "CLUSTER") {
            return "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$0\r\n\r\n:" + std::to_string(port_) + "\r\n";
        }
        if (words[0] == "FUNCTION") {
            loaded_ = true;
            return "$9\r\nunecho_v1\r\n";
        }
        if (!loaded_) {
            return "-ERR Function not found\r\n";
        }
        switch (calm_ == 0 ? 0 : random_() % calm_) {
            case 1:
                return std::nullopt;
            case 2:
                return "-TRYAGAIN Multiple keys request during rehashing of slot\r\n";
            case 3:
                std::this_thread::sleep_for(30ms);
                break;
            case 4:
                loaded_ = false;
                break;
            default:
                break;
        }
        const auto width = static_cast<std::size_t>(std::stoul(words[7]));
        std::string digits;
        for (std::size_t page = 10; page + 1 < words.size(); page += 2) {
            for (std::size_t at = 0; at < words[page + 1].size(); at += width) {
                const bool fresh =
                    seen_.insert(words[3] + words[page] + words[page + 1].substr(at, width)).second;
                digits += fresh ? '0' : '1';
            }
        }
        return "*2\r\n$" + std::to_string(digits.size()) + "\r\n" + digits + "\r\n:1\r\n";
    }

    const unsigned calm_;  // one call in so many gets a failure; 0: none
    Descriptor listener_;
    std::uint16_t port_ = 0;
    std::list<Client> clients_;
    bool loaded_ = false;
    std::set<std::string> seen_;
    std::mt19937_64 random_{7};
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

// --- sites -------------------------------------------------------------------------------------

constexpr std::uint64_t kFlows = 5000;

// A worker of a site: queries flows that other sites have too, and keeps count.
class Worker {
  public:
    explicit Worker(std::uint64_t number) : number_(number), feed_(link_) {}
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;
    Worker(Worker&&) = delete;
    Worker& operator=(Worker&&) = delete;
    ~Worker() = default;

    shared_flows::FlowFeed& feed() { return feed_; }
    void run_until(Clock::time_point end) {
        thread_ = std::thread([this, end] {
            std::mt19937_64 random(number_);
            while (Clock::now() < end) {
                for (unsigned i = 0; i < 32; ++i) {
                    const Digest shared = remix(random() % kFlows, 1);
                    if (link_.asks.push({remix(shared, number_), shared})) {
                        ++asked_;
                        flows_.insert(remix(shared, number_));
                    }
                }
                learn();
                std::this_thread::sleep_for(1ms);
            }
        });
    }
    void join() { thread_.join(); }
    // Take the flows reported as known: it must have queried each of them.
    void learn() {
        for (Digest flow = 0; link_.known.pop(flow); ++learnt_) {
            strangers_ += flows_.count(flow) == 0 ? 1 : 0;
        }
    }

    [[nodiscard]] std::uint64_t asked() const { return asked_; }
    [[nodiscard]] std::uint64_t learnt() const { return learnt_; }
    [[nodiscard]] std::uint64_t strangers() const { return strangers_; }

  private:
    const std::uint64_t number_;
    dataplane::SharedFlowsLink link_;
    appliance::SharedFlowsFeed feed_;
    std::uint64_t asked_ = 0;
    std::uint64_t learnt_ = 0;
    std::uint64_t strangers_ = 0;
    std::unordered_set<Digest> flows_;
    std::thread thread_;
};

std::unique_ptr<shared_flows::SharedFlows> root_of(
    const Master& master, const std::vector<shared_flows::FlowFeed*>& feeds) {
    const auto layout = shared_flows::Layout::make({.name = "threads",
                                                    .window = 60 * kSecond,
                                                    .flows = 100'000,
                                                    .bound = 1e-6,
                                                    .refresh = false,
                                                    .key = "flow"},
                                                   hash::ChachaKey{});
    EXPECT_TRUE(layout) << layout.error().context;
    shared_flows::ClusterClientSpec spec;
    spec.nodes = {master.at()};
    spec.timeout = kSecond;
    auto started = shared_flows::SharedFlows::start(*layout, spec, feeds, std::nullopt);
    EXPECT_TRUE(started) << started.error().context;
    return std::move(*started);
}

std::uint64_t settled(const shared_flows::Counters& counters) {
    return counters.known + counters.unknown + counters.no_room + counters.doubted +
           counters.unanswered;
}

class RootThreads : public testing::TestWithParam<unsigned> {};

// Two sites: one has two workers, the other restarts every now and then.
TEST_P(RootThreads, account_for_every_flow_and_tell_none_that_was_not_asked_for) {
    const Master master(GetParam());
    Worker first(1);
    Worker second(2);
    Worker other(3);
    const Clock::time_point end = Clock::now() + how_long();
    auto site = root_of(master, {&first.feed(), &second.feed()});
    std::uint64_t lines = 0;
    for (Worker* worker : {&first, &second, &other}) {
        worker->run_until(end);
    }
    std::thread reader([&] {
        std::uint64_t before = 0;
        while (Clock::now() < end) {
            const std::uint64_t now = settled(site->counters());
            EXPECT_GE(now, before);
            before = now;
            lines += site->take_lines().size();
            std::this_thread::sleep_for(1ms);
        }
    });
    std::uint64_t known_elsewhere = 0;
    while (Clock::now() < end) {
        const auto there = root_of(master, {&other.feed()});
        std::this_thread::sleep_until(std::min(end, Clock::now() + how_long() / 4));
        known_elsewhere += there->counters().known;
    }
    for (Worker* worker : {&first, &second, &other}) {
        worker->join();
    }
    reader.join();
    const std::uint64_t asked = first.asked() + second.asked();
    for (unsigned i = 0; i < 1000 && settled(site->counters()) < asked; ++i) {
        std::this_thread::sleep_for(10ms);
        first.learn();
        second.learn();
    }
    const shared_flows::Counters counters = site->counters();
    site.reset();
    std::uint64_t strangers = 0;
    for (Worker* worker : {&first, &second, &other}) {
        worker->learn();
        strangers += worker->strangers();
    }
    EXPECT_EQ(settled(counters), asked);
    EXPECT_EQ(first.learnt() + second.learnt() + counters.untold, counters.known);
    EXPECT_EQ(strangers, 0U);
    EXPECT_GT(counters.unknown, 0U);
    EXPECT_GT(counters.known, 0U);
    EXPECT_GT(known_elsewhere, 0U);
    EXPECT_TRUE(lines != 0 || GetParam() == 0) << "a connection that is lost is told";
}

INSTANTIATE_TEST_SUITE_P(Cluster, RootThreads, testing::Values(0U, 40U),
                         [](const auto& info) { return info.param == 0 ? "calm" : "in_trouble"; });

}  // namespace
}  // namespace unecho::test
