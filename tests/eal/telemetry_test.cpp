// SPDX-License-Identifier: BSD-3-Clause
// Telemetry through DPDK's own socket, with as many ports, routes, filters and workers as a process
// may have, and the longest names and numbers. Every answer is complete or says that it is not.
#include "appliance/stats/telemetry.h"

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "appliance/eal/lcores.h"
#include "appliance/eal/runtime_dir.h"
#include "appliance/eal/session.h"
#include "appliance/stats/stats_fold.h"
#include "support/sanitizers.h"
#include "unit/appliance/plans.h"

namespace unecho::test {
namespace {

using appliance::Plan;
using appliance::StatsReport;
using nlohmann::json;

constexpr std::size_t kLongest = std::size_t{16} * 1024;
constexpr std::uint64_t kLarge = 18'000'000'000'000'000'000ULL;

std::string longest_name(const std::string& kind, unsigned i) {
    const std::string number = std::to_string(100 + i);
    return kind + std::string(32 - kind.size() - number.size(), '-') + number;
}

// Return as many of each as the limits allow. Every other route has as many ports as possible.
config::Config full_config() {
    config::Config config;
    config.run.name = longest_name("process", 0);
    for (unsigned i = 0; i < kMaxPorts; ++i) {
        config::Port port;
        port.name = longest_name("port", i);
        port.device = "net_null" + std::to_string(i);
        config.ports.push_back(port);
        config::Filter filter;
        filter.name = longest_name("filter", i);
        filter.window = 50 * kMillisecond;
        filter.rate = 1e6;
        filter.max_false_drop = 1e-6;
        config.filters.push_back(filter);
        config::Route route;
        route.name = std::string(98, 'r') + std::to_string(i);
        route.from = {static_cast<PortIndex>(i)};
        route.to = static_cast<PortIndex>((i + 1) % kMaxPorts);
        route.filter = static_cast<FilterIndex>(i);
        config.routes.push_back(route);
    }
    config.workers.lcores.emplace();
    for (unsigned i = 0; i < kMaxWorkers; ++i) {
        config.workers.lcores->push_back(i + 1);
    }
    config.control.lcore = 0;
    return config;
}

Plan full_plan() {
    std::vector<LcoreId> cpus;
    for (unsigned i = 0; i <= kMaxWorkers; ++i) {
        cpus.push_back(i);
    }
    const config::Config config = full_config();
    Plan plan = appliance::plan_of(config, appliance::machine_with(cpus),
                                   appliance::all_of(config, appliance::device("net_null", 1, 64)));
    // A file cannot express this, because a port is in one `from`. Here a route has all taps.
    plan.routes[0].from.clear();
    for (unsigned i = 0; i + 1 < kMaxPorts; ++i) {
        plan.routes[0].from.push_back(static_cast<PortIndex>(i + 1));
    }
    for (appliance::RoutePlan& route : plan.routes) {
        route.taps = appliance::TapPlan{50 * kMillisecond, kLarge, {}, 0};
        if (route.from.size() == 1) {
            route.from.push_back(route.from[0]);
        }
    }
    return plan;
}

// Set all words of a block of counters.
template <typename Block>
void fill(Block& block) {
    static_assert(std::is_trivially_copyable_v<Block>);
    std::array<std::uint64_t, sizeof(Block) / sizeof(std::uint64_t)> words{};
    words.fill(kLarge);
    std::memcpy(static_cast<void*>(&block), words.data(), sizeof(Block));
}

StatsReport full_report(const Plan& plan) {
    StatsReport report = appliance::empty_report(plan);
    report.start_unix = report.uptime = kLarge;
    for (appliance::PortReport& port : report.ports) {
        fill(port.rx);
        fill(port.tx);
        fill<eal::DeviceCounters>(port);
    }
    for (appliance::RouteReport& route : report.routes) {
        fill(route.reasons);
        fill(route.counts);
        route.taps.ended = true;
        fill(route.taps.last.counts);
        fill(route.taps.total);
    }
    for (appliance::WorkerReport& worker : report.workers) {
        fill<dataplane::WorkerCounters>(worker);
        fill(worker.poll_times);
        worker.settled = kLarge;
        for (std::size_t i = 1; i <= appliance::StallLog::kKept; ++i) {
            dataplane::Stall stall{kLarge,   kLarge,   1U << 31,
                                   1U << 31, 1U << 31, dataplane::Stage::kTransmit};
            worker.stall_log.push_back({kLarge, kLarge, kLarge, stall});
        }
    }
    for (appliance::FilterReport& filter : report.filters) {
        fill(filter.counters);
        fill(filter.tunnels);
        fill(filter.window);
        fill<appliance::FilterLoad>(filter);
    }
    for (std::size_t i = 1; i <= appliance::EventLog::kKept; ++i) {
        report.events.push_back({1000 + i, kLarge, appliance::event::kWorker,
                                 std::string(300, 'e') + std::to_string(i)});
    }
    fill(report.totals);
    fill(report.reasons);
    return report;
}

class Client {
  public:
    explicit Client(const std::string& path) : socket_(socket(AF_UNIX, SOCK_SEQPACKET, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
        EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0)
            << path;
        EXPECT_EQ(json::parse(receive())["max_output_len"], kLongest);
    }
    ~Client() { close(socket_); }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    // Return the answer to a command; null if there is no such object.
    json ask(const std::string& command) {
        EXPECT_GT(send(socket_, command.data(), command.size(), 0), 0);
        const std::string text = receive();
        EXPECT_LT(text.size(), kLongest) << command;
        const json answer = json::parse(text, nullptr, false);
        EXPECT_TRUE(answer.is_object()) << command << ": " << text.substr(0, 200);
        return answer.is_object() ? answer.value(command.substr(0, command.find(',')), json())
                                  : json();
    }

  private:
    std::string receive() {
        std::string text(4 * kLongest, '\0');
        const ssize_t n = recv(socket_, text.data(), text.size(), 0);
        text.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
        return text;
    }

    int socket_;
};

class FullTelemetry : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        folder_ = std::filesystem::temp_directory_path() /
                  ("unecho-telemetry-" + std::to_string(getpid()));
        std::filesystem::create_directories(folder_);
        std::filesystem::permissions(folder_, std::filesystem::perms::owner_all);
        setenv("RUNTIME_DIRECTORY", folder_.c_str(), 1);
        const LcoreId cpu = appliance::Machine::detect().cpus.front();
        eal::SessionOptions options;
        options.name = "full";
        options.args = {"--no-huge", "--no-shconf", "-m", "64"};
        options.main_lcore = cpu;
        options.lcores = eal::lcore_map(cpu, cpu, {});
        EXPECT_FALSE(eal::is_name_taken(options));
        auto session = eal::Session::open(options);
        ASSERT_TRUE(session) << session.error().context;
        session_.emplace(std::move(*session));
        EXPECT_TRUE(eal::is_name_taken(options));
        options.args.emplace_back("--file-prefix=other");
        EXPECT_FALSE(eal::is_name_taken(options));
    }
    static void TearDownTestSuite() {
        session_.reset();
        std::filesystem::remove_all(folder_);
    }

    void SetUp() override {
        auto attached = appliance::Telemetry::attach(plan_, [this] {
            ++looks_;
            return StatsReport(report_);
        });
        ASSERT_TRUE(attached) << attached.error().context;
        telemetry_.emplace(std::move(*attached));
        client_.emplace(eal::runtime_dir("full") + "/dpdk_telemetry.v2");
    }

    json ask(const std::string& command) { return client_->ask("/unecho/" + command); }

    static inline std::filesystem::path folder_;
    static inline std::optional<eal::Session> session_;
    static inline const Plan plan_ = full_plan();
    static inline const StatsReport report_ = full_report(plan_);
    static inline const nlohmann::ordered_json all_ = appliance::to_json(plan_, report_);
    unsigned looks_ = 0;
    std::optional<appliance::Telemetry> telemetry_;
    std::optional<Client> client_;
};

// An answer to an index is complete: each member of it, recursively.
void expect_whole(const json& answer, const nlohmann::ordered_json& all, const std::string& what) {
    EXPECT_FALSE(answer.contains("truncated")) << what;
    for (const auto& [name, value] : all.items()) {
        if (name == "audit") {
            continue;  // it has its own command
        }
        ASSERT_TRUE(answer.contains(name)) << what << "." << name;
        if (value.is_object()) {
            expect_whole(answer[name], value, what + "." + name);
        } else if (value.is_array()) {
            EXPECT_EQ(answer[name].size(), value.size()) << what << "." << name;
        } else if (value.is_number_unsigned()) {
            EXPECT_EQ(answer[name].get<std::uint64_t>(), value.get<std::uint64_t>())
                << what << "." << name;
        }
    }
}

TEST_F(FullTelemetry, answers_by_index_with_all_there_is) {
    for (const std::string member : {"ports", "routes", "workers", "filters"}) {
        ASSERT_EQ(all_[member].size(), 32U) << member;
        for (unsigned i = 0; i < 32; ++i) {
            const std::string command = member + "," + std::to_string(i);
            expect_whole(ask(command), all_[member][i], command);
        }
        EXPECT_TRUE(ask(member + ",32").is_null());
        EXPECT_TRUE(ask(member + ",-1").is_null());
        EXPECT_TRUE(ask(member + ",x").is_null());
        EXPECT_TRUE(ask(member + ",1x").is_null());
    }
    const json route = ask("routes,0");
    EXPECT_EQ(route["from"].size(), 31U);
    EXPECT_EQ(route["from"][30], plan_.ports[31].name);
    EXPECT_EQ(ask("workers,31")["lcore"], 32);
}

TEST_F(FullTelemetry, tells_the_stalls_of_a_worker) {
    for (unsigned i = 0; i < 32; ++i) {
        const json stalls = ask("stalls," + std::to_string(i));
        ASSERT_EQ(stalls.size(), appliance::StallLog::kKept);
        expect_whole(stalls["63"], all_["stalls"][i][63], "stalls");
        EXPECT_EQ(stalls["0"]["stage"], "transmit");
    }
    EXPECT_TRUE(ask("stalls,32").is_null());
}

// The answer lists items in order, each complete, and says that there are more.
TEST_F(FullTelemetry, answers_without_an_index_with_what_fits) {
    for (const std::string member : {"ports", "routes", "workers", "filters", "stalls"}) {
        const json answer = ask(member);
        const std::size_t items = answer.size() - (answer.contains("truncated") ? 1 : 0);
        EXPECT_GE(items, 1U) << member;
        EXPECT_EQ(answer.contains("truncated"), items < 32) << member;
        for (std::size_t i = 0; i < items; ++i) {
            const std::string number = std::to_string(i);
            ASSERT_TRUE(answer.contains(number)) << member << number;
            EXPECT_EQ(answer[number], ask(member + "," + number)) << member << number;
        }
    }
}

TEST_F(FullTelemetry, tells_names_and_numbers_of_everything) {
    const json info = ask("info");
    expect_whole(ask("counters"), all_["totals"], "counters");
    EXPECT_FALSE(info.contains("truncated"));
    EXPECT_EQ(info["name"], plan_.name);
    EXPECT_EQ(info["pid"], getpid());
    EXPECT_EQ(info["start_unix_ns"], kLarge);
    for (const std::string member : {"port", "route", "filter"}) {
        ASSERT_EQ(info[member + "s"], 32) << member;
        ASSERT_EQ(info[member + "_names"].size(), 32U) << member;
    }
    EXPECT_EQ(info["workers"], 32);
    EXPECT_EQ(info["port_names"][31], plan_.ports[31].name);
    EXPECT_EQ(info["route_names"][31], plan_.routes[31].name);
    EXPECT_EQ(info["filter_names"][31], plan_.filters[31].name);
}

// The client asks again with the number of the last event that it has.
TEST_F(FullTelemetry, gives_all_events_in_several_answers) {
    std::uint64_t last = 0;
    std::size_t events = 0;
    for (unsigned answers = 0; answers < 10; ++answers) {
        const json answer = ask("events," + std::to_string(last));
        const std::size_t items = answer.size() - (answer.contains("truncated") ? 1 : 0);
        for (std::size_t i = 0; i < items; ++i) {
            const json& event = answer[std::to_string(i)];
            EXPECT_EQ(event["number"], events + 1001);
            EXPECT_EQ(event["kind"], "worker");
            EXPECT_EQ(event["text"].get<std::string>().size(), 127U) << "as long as DPDK takes";
            const json& pieces = event["pieces"];
            EXPECT_EQ(pieces[0].get<std::string>() + pieces[1].get<std::string>() +
                          pieces[2].get<std::string>() + pieces[3].get<std::string>(),
                      std::string(300, 'e') + std::to_string(events + 1));
            last = event["number"];
            ++events;
        }
        if (!answer.contains("truncated")) {
            break;
        }
    }
    EXPECT_EQ(events, appliance::EventLog::kKept);
    EXPECT_TRUE(ask("events," + std::to_string(last)).empty());
    EXPECT_TRUE(ask("events,soon").is_null());
}

TEST_F(FullTelemetry, explains_everything_at_once_or_by_member) {
    const nlohmann::ordered_json help = appliance::help_json();
    const json answer = ask("help");
    expect_whole(answer, help, "help");
    for (const auto& [member, texts] : help.items()) {
        EXPECT_EQ(ask("help," + member), answer[member]);
    }
    EXPECT_TRUE(ask("help,nothing").is_null());
}

// A client that requests everything piece by piece costs the workers one snapshot each 100 ms,
// however slow the machine is. The log of counters takes one each ten seconds.
TEST_F(FullTelemetry, takes_lists_from_one_look) {
    ask("counters");
    const unsigned before = looks_;
    const auto begin = std::chrono::steady_clock::now();
    for (unsigned i = 0; i < quarter_under_asan(32U); ++i) {
        for (const char* list : {"ports", "routes", "workers", "filters", "audit"}) {
            ask(list + ("," + std::to_string(i)));
            ask(list);
        }
        ask("events,0");
    }
    const auto took = std::chrono::steady_clock::now() - begin;
    EXPECT_LE(looks_ - before, 2 + static_cast<unsigned>(took / std::chrono::milliseconds(100)));
    const unsigned then = looks_;
    ask("counters");
    ask("info");
    EXPECT_GE(looks_ - then, 2U) << "these are as it is now";
    EXPECT_LE(looks_ - then, 3U);
}

}  // namespace
}  // namespace unecho::test
