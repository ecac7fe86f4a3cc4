// SPDX-License-Identifier: BSD-3-Clause
// Workers over net_ring receive a new configuration while packets arrive. Every key that a file may
// hold is changed here, one by one. For each packet an exact oracle knows what this kind of change
// promises (config/compare.h). After every poll all packets are accounted for. The test controls
// time.
#include "appliance/reload/reload.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "appliance/eal/huge_memory.h"
#include "appliance/reload/reload_plan.h"
#include "appliance/timers/rotation_timers.h"
#include "config/compare.h"
#include "config/load.h"
#include "dedup/engines/instance.h"
#include "packets.h"
#include "ring_port.h"
#include "unit/appliance/plans.h"

namespace unecho::test {
namespace {

using appliance::FilterChange;
using config::ReloadEffect;
using pipeline::Reason;

// A configuration file: the keys of each table as text. Tables of ports, filters and routes are
// numbered.
using File = std::map<std::string, std::map<std::string, std::string>>;

std::string text_of(const File& file) {
    std::string text;
    for (const auto& [table, keys] : file) {
        const bool numbered = table.back() >= '0' && table.back() <= '9';
        text += numbered ? "[[" + table.substr(0, table.size() - 1) + "]]\n" : "[" + table + "]\n";
        for (const auto& [key, value] : keys) {
            text += key + " = " + value + "\n";
        }
    }
    return text;
}

File base() {
    File file;
    const char* const names[] = {"a", "b", "tool", "other"};
    for (unsigned i = 0; i < 4; ++i) {
        const std::string number = std::to_string(i);
        file["port" + number] = {{"name", "\"" + std::string(names[i]) + "\""},
                                 {"device", "\"net_null" + number + "\""}};
    }
    for (const char* name : {"f", "g"}) {
        file[std::string("filter") + (*name == 'f' ? "0" : "1")] = {
            {"name", "\"" + std::string(name) + "\""},
            {"window", "\"20ms\""},
            {"rate", "\"50kpps\""},
            {"engine", "\"line\""}};
    }
    file["route0"] = {
        {"name", "\"r\""}, {"from", "[\"a\"]"}, {"to", "\"tool\""}, {"filter", "\"f\""}};
    file["route1"] = {
        {"name", "\"s\""}, {"from", "[\"other\"]"}, {"to", "\"b\""}, {"filter", "\"g\""}};
    file["workers"] = {{"lcores", "[0]"}};
    file["run"] = {{"name", "\"box\""}};
    return file;
}

struct Edit {
    std::string table;
    std::string key;
    std::string value;  // empty: remove the key
};

File with(File file, const std::vector<Edit>& edits) {
    for (const Edit& edit : edits) {
        if (edit.value.empty()) {
            file[edit.table].erase(edit.key);
        } else {
            file[edit.table][edit.key] = edit.value;
        }
    }
    return file;
}

config::Config loaded(const File& file) {
    auto config = config::load_text(text_of(file), "box.toml");
    EXPECT_TRUE(config) << config::to_text(config.error(), "box.toml") << text_of(file);
    return config.value_or(config::Config{});
}

enum class Verdict { kPassed, kEcho };

// An appliance without threads: the control thread's work is done between two polls.
class Box {
  public:
    explicit Box(const File& file) : config_(loaded(file)), secret_(hash::secret_from_seed(7)) {
        appliance::Facts facts(config_.ports.size(), appliance::device("net_ring", 1, 4));
        auto plan = appliance::make_plan(config_, machine_, facts);
        EXPECT_TRUE(plan) << config::to_text(plan.error(), "box.toml");
        plan_ = *plan;
        appliance::TopologyInput input;
        for (const appliance::PortPlan& port : plan_.ports) {
            ports_.push_back(
                std::make_unique<RingPort>(port.setup.rx_queues, port.setup.tx_queues, 4096));
            input.ports.push_back(ports_.back()->id());
        }
        static unsigned number = 0;
        input.plan = &plan_;
        input.secret = &secret_;
        input.audit_secret = &audit_secret_;
        input.clock = {0, std::uint64_t{1} << 32, &now_};
        input.ring_size = config_.workers.ring_size;
        input.name = "box" + std::to_string(number++);
        auto topology = appliance::Topology::make(input);
        EXPECT_TRUE(topology) << topology.error().context;
        topology_ = std::move(*topology);
        for (const appliance::RoutePlan& route : plan_.routes) {
            route_names_.push_back(route.name);
        }
        turns_.follow(topology_->present(), true, now_);
    }
    Box(const Box&) = delete;
    Box& operator=(const Box&) = delete;
    Box(Box&&) = delete;
    Box& operator=(Box&&) = delete;
    ~Box() {
        settle();
        for (const auto& port : ports_) {
            port->discard();
        }
    }

    tl::expected<appliance::ReloadPlan, appliance::Problems> plan_for(
        const config::Config& wanted) {
        const auto made = appliance::WantedConfig::make(
            wanted, machine_, appliance::facts_of(*topology_->present().plan));
        return appliance::plan_reload({.running = &config_,
                                       .wanted = &made,
                                       .present = &topology_->present(),
                                       .route_names = &route_names_,
                                       .now_unix = 1});
    }

    // Publish the first setup, which workers apply in `meanwhile`. look() publishes the last one.
    appliance::ReloadPlan begin(const File& file) {
        return begin(file, [this] { settle(); });
    }
    template <typename Meanwhile>
    appliance::ReloadPlan begin(const File& file, Meanwhile meanwhile) {
        const config::Config wanted = loaded(file);
        auto plan = plan_for(wanted);
        EXPECT_TRUE(plan) << config::to_text(plan.error(), "box.toml");
        auto steps = topology_->prepare(plan->change);
        EXPECT_TRUE(steps) << steps.error().context;
        steps_ = std::move(*steps);
        turns_.follow(*steps_.first, true, now_);
        const auto before = topology_->publish(std::move(steps_.first));
        meanwhile();
        EXPECT_TRUE(topology_->adopted());
        marks_ = topology_->rings().mark();
        warm_at_ = now_ + steps_.warming;
        config_ = wanted;
        route_names_ = plan->route_names;
        return std::move(*plan);
    }
    // Do the control thread's periodic work.
    void look() {
        turns_.tick([this] { return now_; });
        while (turns_.zero()) {
        }
        if (steps_.last != nullptr && now_ >= warm_at_ && topology_->rings().passed(marks_)) {
            turns_.follow(*steps_.last, true, now_);
            const auto before = topology_->publish(std::move(steps_.last));
            settle();
            EXPECT_TRUE(topology_->adopted());
        }
    }
    [[nodiscard]] bool warming() const { return steps_.last != nullptr; }

    void pass_time(Nanoseconds time) {
        for (Nanoseconds step = 0; step < time; step += 100 * kMicrosecond) {
            now_ += 100 * kMicrosecond;
            look();
            poll();
        }
    }

    // Let time pass when the test itself does the control thread's work.
    void wait(Nanoseconds time) {
        now_ += time;
        poll();
    }

    void poll() {
        for (std::size_t w = 0; w < topology_->workers(); ++w) {
            topology_->worker(w).poll_once();
            check_books(w);
        }
    }
    void settle() {
        for (unsigned round = 0; round < 4; ++round) {
            poll();
        }
    }

    void offer(PortIndex port, const Bytes& bytes) { ports_[port]->offer(make_mbuf(bytes)); }
    // Return the verdict on one packet while no other is on its way.
    Verdict see(PortIndex port, const Bytes& bytes) {
        const std::uint64_t before = echoes();
        const std::uint64_t settled = settled_packets();
        offer(port, bytes);
        settle();
        EXPECT_EQ(settled_packets(), settled + 1) << "port " << port;
        return echoes() != before ? Verdict::kEcho : Verdict::kPassed;
    }
    std::vector<Bytes> sent(PortIndex port) { return ports_[port]->sent(); }
    void discard() {
        for (const auto& port : ports_) {
            port->discard();
        }
    }

    [[nodiscard]] Nanoseconds now() const { return now_; }
    [[nodiscard]] const config::Config& config() const { return config_; }
    [[nodiscard]] const appliance::Plan& plan() const { return *topology_->present().plan; }
    appliance::Topology& topology() { return *topology_; }
    [[nodiscard]] const appliance::RotationTimers& turns() const { return turns_; }

  private:
    [[nodiscard]] std::uint64_t sum(bool echoes_alone) const {
        std::uint64_t packets = 0;
        for (std::size_t w = 0; w < topology_->workers(); ++w) {
            for (const auto& route : topology_->worker(w).counters().routes) {
                for (unsigned i = 0; i < pipeline::kReasons; ++i) {
                    const auto reason = static_cast<Reason>(i);
                    const bool echo = reason == Reason::kEcho || reason == Reason::kEchoPassed ||
                                      reason == Reason::kEchoDiverted;
                    packets += !echoes_alone || echo ? route[i].packets : 0;
                }
            }
        }
        return packets;
    }
    [[nodiscard]] std::uint64_t echoes() const { return sum(true); }
    [[nodiscard]] std::uint64_t settled_packets() const { return sum(false); }

    void check_books(std::size_t worker) {
        const dataplane::Counters& c = topology_->worker(worker).counters();
        std::uint64_t in = c.handed_in;
        std::uint64_t out = c.handed_out;
        std::uint64_t rx = 0;
        std::uint64_t received = 0;
        for (const pipeline::PacketBytes& port : c.rx) {
            rx += port.packets;
        }
        for (std::size_t r = 0; r < kMaxRoutes; ++r) {
            received += c.received[r];
            for (const pipeline::PacketBytes& reason : c.routes[r]) {
                out += reason.packets;
            }
            lost_ += c.routes[r][static_cast<unsigned>(Reason::kTxLost)].packets;
        }
        ASSERT_EQ(in + rx, out) << "worker " << worker;
        ASSERT_EQ(rx, received) << "worker " << worker;
        ASSERT_EQ(lost_, 0U);
    }

    config::Config config_;
    appliance::Machine machine_ = appliance::machine_with({0, 1});
    hash::Secret secret_;
    pipeline::AuditSecret audit_secret_ = pipeline::audit_secret_from(7);
    std::vector<std::unique_ptr<RingPort>> ports_;
    appliance::Plan plan_;
    std::uint64_t now_ = 3600 * kSecond;  // long after the start
    std::unique_ptr<appliance::Topology> topology_;
    std::vector<std::string> route_names_;
    appliance::RotationTimers turns_;
    appliance::ConfigTransition steps_;
    std::vector<std::uint32_t> marks_;
    Nanoseconds warm_at_ = 0;
    std::uint64_t lost_ = 0;
};

// --- what the product promises -----------------------------------------------------------------

struct Promise {
    Nanoseconds window = 0;  // younger packets are echoes
    Nanoseconds forget = 0;  // older packets are new
    unsigned first = 1;
    bool refreshes = false;
};

Promise promise_of(const Box& box) {
    const FilterIndex filter = box.plan().routes[0].filter;
    const engines::FilterPlan& plan = box.plan().filters[filter];
    // The test advances turns in steps, so a turn may be late by a step.
    return {plan.window, plan.window + plan.prediction.slack + 8 * kMillisecond, plan.first,
            plan.policy == config::Policy::kRefresh};
}

// One new packet each millisecond, and copies of earlier ones, of all ages around the windows.
class Stream {
  public:
    explicit Stream(Box& box) : box_(box), promise_(promise_of(box)) {}

    // Forget all packets: after a change nothing is promised of them, or two filters may know them.
    void forget_all() { packets_.clear(); }
    void promise(const Promise& promise) { promise_ = promise; }

    void run(Nanoseconds time) {
        for (Nanoseconds step = 0; step < time; step += kMillisecond) {
            box_.pass_time(kMillisecond);
            packets_[next_] = {};
            see(next_++);
            const Nanoseconds ages[] = {1, 3, 9, 14, 18, 19, 27, 29, 38, 39, 60, 90};
            for (std::size_t i = 0; i < std::size(ages); ++i) {
                if (next_ > ages[i] && (next_ - 1 - ages[i]) % 3 == i % 3) {
                    see(static_cast<unsigned>(next_ - 1 - ages[i]));
                }
            }
            box_.discard();
        }
    }

    [[nodiscard]] unsigned echoes() const { return echoes_; }
    [[nodiscard]] unsigned passed() const { return passed_; }
    // Return the number of echoes of packets from before the last change.
    [[nodiscard]] unsigned across() const { return across_; }
    void change() { changed_at_ = box_.now(); }

  private:
    void see(unsigned number) {
        const auto found = packets_.find(number);
        if (found == packets_.end()) {
            return;
        }
        std::vector<Nanoseconds>& times = found->second;
        const Nanoseconds now = box_.now();
        const auto younger = [&](Nanoseconds age) {
            return static_cast<unsigned>(std::count_if(
                times.begin(), times.end(), [&](Nanoseconds time) { return now - time < age; }));
        };
        const bool must = younger(promise_.window) >= promise_.first;
        const bool may = younger(promise_.forget) >= promise_.first;
        const auto& from = box_.plan().routes[0].from;
        const Verdict verdict = box_.see(from[number % from.size()], packet(number + 1));
        const Nanoseconds age = times.empty() ? 0 : now - times.back();
        if (must) {
            EXPECT_EQ(verdict, Verdict::kEcho) << "packet " << number << " of " << age << " ns";
        } else if (!may) {
            EXPECT_EQ(verdict, Verdict::kPassed) << "packet " << number << " of " << age << " ns";
        }
        echoes_ += verdict == Verdict::kEcho ? 1 : 0;
        passed_ += !may && !times.empty() ? 1 : 0;
        across_ += verdict == Verdict::kEcho && times.back() < changed_at_ ? 1 : 0;
        if (verdict == Verdict::kPassed || promise_.refreshes) {
            times.push_back(now);
        }
    }

    Box& box_;
    Promise promise_;
    std::map<unsigned, std::vector<Nanoseconds>> packets_;  // when each was recorded
    unsigned next_ = 0;
    unsigned echoes_ = 0;
    unsigned passed_ = 0;
    unsigned across_ = 0;
    Nanoseconds changed_at_ = 0;
};

// --- key by key --------------------------------------------------------------------------------

enum class Expected { kAsItsKind, kForgets };

struct KeyCase {
    std::string key;  // such as "filter.window", for a table such as "filter0"
    std::vector<Edit> before;
    std::vector<Edit> after;
    Expected expected = Expected::kAsItsKind;
};

void PrintTo(const KeyCase& one, std::ostream* out) {
    *out << one.key;
}

const std::string kBlocks =
    "{ k = 2, l = 5, segment_bits = 65536, block_bits = 512, bits_per_key = 8 }";
const std::string kFingerprints = "{ fingerprint_bits = 16, lines = 4096 }";
const std::string kLines = "{ k = 2, lines = 4096, lines_per_key = 1, bits_per_key = 8 }";

std::vector<Edit> blocks(const std::string& geometry) {
    return {{"filter0", "rate", ""},
            {"filter0", "engine", "\"apbbf\""},
            {"filter0", "geometry", geometry}};
}
std::vector<Edit> lines(const std::string& geometry) {
    return {{"filter0", "rate", ""}, {"filter0", "geometry", geometry}};
}
std::vector<Edit> fingerprints(const std::string& geometry) {
    return {{"filter0", "rate", ""},
            {"filter0", "engine", "\"fingerprint\""},
            {"filter0", "geometry", geometry}};
}
std::vector<Edit> both(std::vector<Edit> some, const std::vector<Edit>& others) {
    some.insert(some.end(), others.begin(), others.end());
    return some;
}
const std::vector<Edit> kPenalty{{"filter0", "rule", "\"penalty\""}};
std::vector<Edit> one(const std::string& table, const std::string& key, const std::string& value) {
    return {{table, key, value}};
}
std::string classes(const std::string& text) {
    return "[{ " + text + " }]";
}

// A file that only its owner may read, removed at exit.
class PrivateFile {
  public:
    PrivateFile(const std::string& name, const std::string& text)
        : path_(testing::TempDir() + "unecho-reload-" + name + "-" + std::to_string(getpid())) {
        std::ofstream(path_) << text << "\n";
        chmod(path_.c_str(), S_IRUSR | S_IWUSR);
    }
    PrivateFile(const PrivateFile&) = delete;
    PrivateFile& operator=(const PrivateFile&) = delete;
    PrivateFile(PrivateFile&&) = delete;
    PrivateFile& operator=(PrivateFile&&) = delete;
    ~PrivateFile() { unlink(path_.c_str()); }

    [[nodiscard]] std::string quoted() const { return "\"" + path_ + "\""; }

  private:
    std::string path_;
};

// Return the keys that every shared flow store needs, and those of its filter.
std::vector<Edit> with_root() {
    static const PrivateFile secret("secret", std::string(64, 'a'));
    return {{"filter0", "key", "\"flow\""},
            {"filter0", "first", "2"},
            {"filter0", "window", "\"1s\""},
            {"filter0", "root.redis", R"(["127.0.0.1:7001"])"},
            {"filter0", "root.secret_file", secret.quoted()},
            {"filter0", "root.flows", "1000"}};
}

std::vector<KeyCase> root_cases() {
    const auto k = [](const std::string& key, const std::string& before, const std::string& after) {
        return KeyCase{"filter.root." + key,
                       both(with_root(), one("filter0", "root." + key, before)),
                       both(with_root(), one("filter0", "root." + key, after))};
    };
    static const PrivateFile secret("some-secret", std::string(64, 'b'));
    static const PrivateFile other_secret("another-secret", std::string(64, 'c'));
    static const PrivateFile password("password", "one");
    static const PrivateFile other_password("another-password", "two");
    const std::vector<Edit> passing =
        both(with_root(), one("filter0", "root.password_file", password.quoted()));
    std::vector<Edit> without = with_root();
    without.resize(3);
    return {
        {"filter.root", without, with_root()},
        k("redis", R"(["127.0.0.1:7001"])", R"(["127.0.0.1:7002"])"),
        k("secret_file", secret.quoted(), other_secret.quoted()),
        k("flows", "1000", "2000"),
        k("name", "\"shared\"", "\"common\""),
        {"filter.root.user", both(passing, one("filter0", "root.user", "\"some\"")),
         both(passing, one("filter0", "root.user", "\"another\""))},
        k("password_file", password.quoted(), other_password.quoted()),
        k("timeout", "\"100ms\"", "\"200ms\""),
        k("required", "false", "true"),
        k("on_root", "\"drop\"", "\"count\""),
    };
}

std::vector<KeyCase> cases() {
    const auto f = [](const std::string& key, const std::string& before, const std::string& after) {
        return KeyCase{"filter." + key, one("filter0", key, before), one("filter0", key, after)};
    };
    const auto r = [](const std::string& key, const std::string& before, const std::string& after) {
        return KeyCase{"route." + key, one("route0", key, before), one("route0", key, after)};
    };
    const auto p = [](const std::string& section, const std::string& key, const std::string& before,
                      const std::string& after) {
        return KeyCase{section + "." + key, one(section, key, before), one(section, key, after)};
    };
    const auto port = [](const std::string& key, const std::string& before,
                         const std::string& after) {
        return KeyCase{"port." + key, one("port3", key, before), one("port3", key, after)};
    };
    const std::vector<Edit> opens = one("filter0", "tunnels", "\"all\"");
    const std::vector<Edit> flows = one("filter0", "key", "\"flow\"");
    std::vector<Edit> captures;
    for (const char* number : {"0", "1", "2", "3"}) {
        const bool receives = *number == '0' || *number == '3';
        captures.push_back({std::string("port") + number, "device",
                            std::string("\"net_pcap") + number +
                                (receives ? std::string(",rx_pcap=/dev/null\"")
                                          : std::string(",tx_pcap=out") + number + ".pcap\"")});
    }
    const std::vector<Edit> two_taps = one("route0", "from", R"(["a", "b"])");
    const std::vector<Edit> exact_path = {{"route0", "from", R"(["a", "b"])"},
                                          {"route0", "path", R"(["a", "b"])"},
                                          {"filter0", "engine", "\"exact\""}};
    const std::vector<Edit> taps = {{"route0", "from", R"(["a", "b"])"},
                                    {"route0", "report_taps", "true"}};
    const auto geometry = [](const std::string& key, const std::vector<Edit>& before,
                             const std::vector<Edit>& after) {
        return KeyCase{"filter.geometry." + key, before, after};
    };
    const auto in = [](std::string text, const std::string& from, const std::string& to) {
        return text.replace(text.find(from), from.size(), to);
    };
    std::vector<KeyCase> all = {
        f("window", "\"20ms\"", "\"30ms\""),
        f("engine", "\"line\"", "\"apbbf\""),
        f("rate", "\"50kpps\"", "\"500kpps\""),
        f("max_false_drop", "1e-6", "1e-4"),
        f("memory", "", "\"4MiB\""),
        {"filter.geometry", lines(kLines), lines(in(kLines, "4096", "8192"))},
        geometry("k", blocks(kBlocks), blocks(in(kBlocks, "k = 2", "k = 3"))),
        geometry("l", blocks(kBlocks), blocks(in(kBlocks, "l = 5", "l = 10"))),
        geometry("segment_bits", blocks(kBlocks), blocks(in(kBlocks, "65536", "131072"))),
        geometry("block_bits", blocks(kBlocks), blocks(in(kBlocks, "512", "256"))),
        geometry("bits_per_key", blocks(kBlocks),
                 blocks(in(kBlocks, "bits_per_key = 8", "bits_per_key = 6"))),
        geometry("lines", lines(kLines), lines(in(kLines, "4096", "8192"))),
        geometry("lines_per_key", lines(kLines),
                 lines(in(kLines, "lines_per_key = 1", "lines_per_key = 2"))),
        geometry("fingerprint_bits", fingerprints(kFingerprints),
                 fingerprints(in(kFingerprints, "16", "24"))),
        f("on_full", "\"shrink\"", "\"doubt\""),
        f("rule", "\"bound\"", "\"match\""),
        {"filter.false_drop_cost", kPenalty,
         both(kPenalty, one("filter0", "false_drop_cost", "2000"))},
        {"filter.leak_cost", kPenalty, both(kPenalty, one("filter0", "leak_cost", "2"))},
        {"filter.class", kPenalty,
         both(kPenalty, one("filter0", "class", classes("dscp = [10], leak_cost = 3")))},
        {"filter.class.dscp",
         both(kPenalty, one("filter0", "class", classes("dscp = [10], leak_cost = 3"))),
         both(kPenalty, one("filter0", "class", classes("dscp = [12], leak_cost = 3")))},
        {"filter.class.leak_cost",
         both(kPenalty, one("filter0", "class", classes("dscp = [0], leak_cost = 3"))),
         both(kPenalty, one("filter0", "class", classes("dscp = [0], leak_cost = 4")))},
        {"filter.class.false_drop_cost",
         both(kPenalty, one("filter0", "class", classes("dscp = [0], false_drop_cost = 300"))),
         both(kPenalty, one("filter0", "class", classes("dscp = [0], false_drop_cost = 400")))},
        {"filter.name", {}, {{"filter0", "name", "\"h\""}, {"route0", "filter", "\"h\""}}},
        f("key", "\"packet\"", "\"flow\""),
        f("non_ip", "\"pass\"", "\"frame\""),
        f("tunnels", "\"none\"", "\"all\""),
        {"filter.vxlan_ports", opens, both(opens, one("filter0", "vxlan_ports", "[5000]"))},
        {"filter.tenant", both(opens, one("filter0", "tenant", "\"match\"")),
         both(opens, one("filter0", "tenant", "\"ignore\""))},
        f("key_bytes", "", "64"),
        f("tags", "\"ignore\"", "\"compare\""),
        f("repeats", "\"keep\"", "\"drop\""),
        f("point", "\"link\"", "\"port\""),
        f("same_port", "\"0s\"", "\"1ms\""),
        f("views", "2", "3"),
        f("second_looks", "\"doubled\"", "\"all\""),
        f("unidentified", "1", "0.5"),
        f("policy", "\"fixed\"", "\"refresh\""),
        {"filter.first", flows, both(flows, one("filter0", "first", "2"))},
        r("name", "\"r\"", "\"q\""),
        // same_port is set because its default depends on the number of ports.
        {"route.from", one("filter0", "same_port", "\"0s\""),
         both(one("filter0", "same_port", "\"0s\""), one("route0", "from", R"(["a", "b"])"))},
        {"route.to", {}, {{"route0", "to", "\"b\""}, {"route1", "to", "\"tool\""}}},
        {"route.filter",
         {},
         {{"route0", "filter", "\"g\""}, {"route1", "filter", "\"f\""}},
         Expected::kForgets},
        r("on_echo", "\"drop\"", "\"pass\""),
        r("allow_flow_drop_on_link", "false", "true"),
        r("allow_non_ip_drop_on_link", "false", "true"),
        r("allow_tunnel_drop_on_link", "false", "true"),
        r("allow_repeat_drop_on_link", "false", "true"),
        {"route.report_taps", one("route0", "from", R"(["a", "b"])"), taps},
        {"route.report_window", taps, both(taps, one("route0", "report_window", "\"40ms\""))},
        {"route.report_flows", taps, both(taps, one("route0", "report_flows", "5000"))},
        {"route.path", two_taps, both(two_taps, one("route0", "path", R"(["b", "a"])"))},
        {"route.path_packets", exact_path,
         both(exact_path, one("route0", "path_packets", "\"all\""))},
        {"route.max_path_loss", two_taps, both(two_taps, one("route0", "max_path_loss", "0.5"))},
        {"route.max_path_delay", two_taps,
         both(two_taps, one("route0", "max_path_delay", "\"1ms\""))},
        p("audit", "enabled", "true", "false"),
        p("audit", "memory", "\"2MiB\"", "\"1MiB\""),
        p("audit", "verify", "\"digest\"", "\"bytes\""),
        p("control", "link_check", "\"500ms\"", "\"100ms\""),
        p("control", "drain_timeout", "\"1s\"", "\"2s\""),
        p("run", "duration", "", "\"1h\""),
        p("run", "stop_when_idle", "", "\"1h\""),
        p("run", "tx_retry", "\"100us\"", "\"50us\""),
        p("run", "stall_threshold", "\"250us\"", "\"1ms\""),
        // Keys that need a restart.
        p("eal", "args", R"(["--no-pci"])", R"(["--no-pci", "-m", "64"])"),
        {"port.name", {}, {{"port3", "name", "\"another\""}, {"route1", "from", R"(["another"])"}}},
        port("device", "\"net_null3\"", "\"net_null4\""),
        port("rx_queues", "1", "2"),
        port("group", "\"x\"", "\"y\""),
        port("tx_queues", "1", "2"),
        port("rx_descriptors", "1024", "512"),
        port("tx_descriptors", "1024", "512"),
        port("mtu", "1500", "9000"),
        port("promiscuous", "true", "false"),
        p("workers", "lcores", "[0]", "[0, 1]"),
        p("workers", "steering", "\"auto\"", "\"ring\""),
        p("workers", "ring_size", "1024", "2048"),
        p("workers", "burst", "32", "16"),
        p("workers", "isa", "\"auto\"", "\"scalar\""),
        p("control", "lcore", "0", "1"),
        p("state", "dir", "", "\"/dev/shm/unecho\""),
        p("run", "name", "\"box\"", "\"sox\""),
        p("run", "telemetry_group", "", "\"root\""),
        p("run", "lock_memory", "false", "true"),
        {"run.clock", captures, both(captures, one("run", "clock", "\"capture\""))},
        p("run", "seed", "1", "2"),
        p("run", "mbufs", "", "65535"),
    };
    const std::vector<KeyCase> shared = root_cases();
    all.insert(all.end(), shared.begin(), shared.end());
    return all;
}

std::string name_of(const config::KnownKey& key) {
    return key.section + "." + key.key;
}

ReloadEffect kind_of(const std::string& name) {
    for (const config::KnownKey& key : config::known_keys()) {
        if (name_of(key) == name) {
            const auto found =
                std::find(config::kReloadNames.begin(), config::kReloadNames.end(), key.reload);
            return static_cast<ReloadEffect>(found - config::kReloadNames.begin());
        }
    }
    ADD_FAILURE() << name << " is no key";
    return ReloadEffect::kRestart;
}

TEST(ReloadKeys, are_all_changed_here) {
    const std::vector<KeyCase> tested = cases();
    for (const config::KnownKey& key : config::known_keys()) {
        EXPECT_EQ(std::count_if(tested.begin(), tested.end(),
                                [&](const KeyCase& one) { return one.key == name_of(key); }),
                  1)
            << name_of(key) << " has no test";
    }
}

class ReloadOf : public EalTest, public testing::WithParamInterface<KeyCase> {};

void change(Box& box, Stream& stream, const KeyCase& key, const File& after) {
    const Promise before = promise_of(box);
    const appliance::ReloadPlan plan = box.begin(after);
    stream.change();
    const Promise wanted = promise_of(box);
    const FilterIndex filter = box.plan().routes[0].filter;
    const FilterChange change = plan.change.filters[filter];
    if (change == FilterChange::kReplaced || change == FilterChange::kNew ||
        key.expected == Expected::kForgets) {
        EXPECT_TRUE(kind_of(key.key) == ReloadEffect::kImmediate ||
                    key.expected == Expected::kForgets);
        stream.forget_all();
        stream.promise(wanted);
        return;
    }
    EXPECT_NE(kind_of(key.key), ReloadEffect::kImmediate);
    if (kind_of(key.key) == ReloadEffect::kLive) {
        EXPECT_EQ(change, FilterChange::kKept);
    }
    Promise both = wanted;
    both.window = std::min(before.window, wanted.window);
    both.forget = std::max(before.forget, wanted.forget);
    stream.promise(both);
    while (box.warming()) {
        stream.run(kMillisecond);
    }
    // Some packets may have passed again by now: wait until the predecessor's are forgotten.
    stream.run(both.forget);
    stream.promise(wanted);
}

TEST_P(ReloadOf, keeps_what_it_promises_for_its_kind) {
    const KeyCase& key = GetParam();
    const File before = with(base(), key.before);
    const File after = with(base(), key.after);
    Box box(before);
    if (kind_of(key.key) == ReloadEffect::kRestart) {
        const auto plan =
            box.plan_for(config::load_text(text_of(after), "box.toml").value_or(loaded(before)));
        ASSERT_FALSE(plan);
        const std::string text = config::to_text(plan.error(), "box.toml");
        EXPECT_NE(text.find("needs a restart"), std::string::npos) << text;
        const std::string name = key.key.substr(key.key.find('.') + 1);
        EXPECT_NE(text.find(name), std::string::npos) << text;
        for (const auto& [edits, file] : {std::pair{&key.before, &before}, {&key.after, &after}}) {
            for (const Edit& edit : *edits) {
                if (edit.key != name) {
                    continue;
                }
                // The last of several edits of one key takes effect.
                const auto& written = file->at(edit.table);
                const auto found = written.find(edit.key);
                const std::string value = found == written.end() ? "none" : found->second;
                EXPECT_NE(text.find(value), std::string::npos) << text << " has no " << value;
            }
        }
        return;
    }
    const auto differences = config::compare(loaded(before), loaded(after));
    EXPECT_FALSE(differences.empty());
    Stream stream(box);
    stream.run(60 * kMillisecond);
    EXPECT_GT(stream.echoes(), 50U);
    change(box, stream, key, after);
    stream.run(150 * kMillisecond);
    EXPECT_GT(stream.passed(), 5U) << "some are forgotten";
    if (kind_of(key.key) != ReloadEffect::kImmediate && key.expected == Expected::kAsItsKind) {
        EXPECT_GT(stream.across(), 5U) << "echoes of packets before are found";
    }
    // Change back, with everything that the process has by now.
    stream.forget_all();
    box.begin(before);
    while (box.warming()) {
        box.pass_time(kMillisecond);
    }
    EXPECT_FALSE(HasFailure());
}

std::string test_name(const testing::TestParamInfo<KeyCase>& info) {
    std::string name = info.param.key;
    std::replace(name.begin(), name.end(), '.', '_');
    return name;
}
INSTANTIATE_TEST_SUITE_P(Each, ReloadOf, testing::ValuesIn(cases()), test_name);

// --- first packets of flows ----------------------------------------------------------------------

class FirstPackets
    : public EalTest,
      public testing::WithParamInterface<std::tuple<std::string, std::string, std::string>> {};

// Three packets of a flow pass in a window, whichever of the two filters recorded them.
TEST_P(FirstPackets, of_a_flow_are_counted_by_both) {
    const auto& [from, to, policy_of_both] = GetParam();
    const std::string& policy = policy_of_both;  // a lambda cannot capture a structured binding
    const auto file = [&](const std::string& engine, const std::string& window) {
        File out = base();
        out["filter0"] = {{"name", "\"f\""},
                          {"window", window},
                          {"rate", "\"50kpps\""},
                          {"engine", "\"" + engine + "\""},
                          {"key", "\"flow\""},
                          {"first", "3"},
                          {"policy", "\"" + policy + "\""}};
        return out;
    };
    Box box(file(from, "\"20ms\""));
    box.pass_time(50 * kMillisecond);
    for (unsigned n = 0; n < 2; ++n) {
        EXPECT_EQ(box.see(0, packet(1, n)), Verdict::kPassed);
    }
    for (unsigned n = 0; n < 3; ++n) {
        EXPECT_EQ(box.see(0, packet(2, n)), Verdict::kPassed);
    }
    box.begin(file(to, "\"30ms\""));
    box.pass_time(5 * kMillisecond);
    EXPECT_EQ(box.see(0, packet(2, 3)), Verdict::kEcho) << "three before";
    EXPECT_EQ(box.see(0, packet(1, 2)), Verdict::kPassed) << "two before, one now";
    EXPECT_EQ(box.see(0, packet(1, 3)), Verdict::kEcho) << "the fourth";
    for (unsigned n = 0; n < 3; ++n) {
        EXPECT_EQ(box.see(0, packet(3, n)), Verdict::kPassed);
    }
    EXPECT_EQ(box.see(0, packet(3, 3)), Verdict::kEcho);
    if (policy == "refresh") {
        for (unsigned i = 0; i < 20; ++i) {
            box.pass_time(10 * kMillisecond);
            EXPECT_EQ(box.see(0, packet(2, 4 + i)), Verdict::kEcho) << "it never was silent";
        }
        EXPECT_FALSE(box.warming());
    }
}
INSTANTIATE_TEST_SUITE_P(Of, FirstPackets,
                         testing::Combine(testing::Values("line", "shbf-x", "exact"),
                                          testing::Values("apbbf", "fingerprint", "shbf-x", "btbf"),
                                          testing::Values("fixed", "refresh")),
                         [](const auto& info) {
                             std::string name = std::get<0>(info.param) + "_to_" +
                                                std::get<1>(info.param) + "_" +
                                                std::get<2>(info.param);
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

// --- the bound ---------------------------------------------------------------------------------

// A filter so full that its matches may be accidents, and an empty successor.
class TwoFilters {
  public:
    explicit TwoFilters(float most_chance, engines::Engine second = engines::Engine::kApbbf) {
        engines::FilterSpec spec;
        spec.name = "small";
        spec.window = 20 * kMillisecond;
        for (Part& part : parts_) {
            spec.engine = &part == parts_.data() ? engines::Engine::kApbbf : second;
            if (spec.engine == engines::Engine::kApbbf) {
                spec.geometry = {.k = 2, .l = 5, .segment_bits = 8192, .bits_per_key = 8};
            } else {
                spec.geometry = {};
                spec.rate = 10'000;
                spec.max_false_drop = 1e-6;
            }
            engines::FilterPlan plan = engines::plan_filter(spec, {}).value();
            if (plan.engine().estimates_chance) {
                plan.confidence = pipeline::ConfidencePolicy::bound(most_chance);
            } else {
                plan.bound = most_chance;
            }
            part.memory.emplace(eal::HugeMemory::allocate(plan.instance_bytes, -1, false).value());
            part.instance = engines::FilterInstance::make(plan, part.memory->bytes()).value();
            part.context = part.instance->context(plan);
        }
        for (std::uint64_t i = 0; i < 900; ++i) {
            decide(parts_[0].context, remix(i, 1));
        }
    }

    // Decide by the second filter with the first as predecessor.
    pipeline::Burst of_both(Digest digest) {
        parts_[1].context.before = &parts_[0].context;
        return decide(parts_[1].context, digest);
    }
    [[nodiscard]] float chance(std::size_t which, Digest digest) const {
        return parts_.at(which).context.ops->chance(parts_.at(which).context.filter, digest);
    }

  private:
    struct Part {
        std::optional<eal::HugeMemory> memory;
        std::unique_ptr<engines::FilterInstance> instance;
        pipeline::FilterContext context;
    };
    static pipeline::Burst decide(const pipeline::FilterContext& context, Digest digest) {
        pipeline::Burst burst;
        burst.count = 1;
        burst.digests[0] = digest;
        burst.keys.keyed = 1;
        pipeline::decide(burst, context, {1, 0});
        return burst;
    }

    std::array<Part, 2> parts_;
};

TEST(ReloadBound, is_on_the_chances_of_both_filters_together) {
    const Digest known = remix(7, 1);
    const float chance = TwoFilters(1).chance(0, known);
    ASSERT_GT(chance, 1e-4F);
    TwoFilters above(chance * 2);
    EXPECT_EQ(above.of_both(known).echoes, 1U) << "the old one knows it";
    TwoFilters below(chance / 2);
    const pipeline::Burst doubted = below.of_both(known);
    EXPECT_EQ(doubted.echoes, 0U);
    EXPECT_EQ(doubted.doubts, 1U);
    // It passed, so it was recorded. The new filter alone would be certain of it.
    EXPECT_LT(below.chance(1, known), chance / 2);
    EXPECT_EQ(below.of_both(known).doubts, 1U);
    const Digest fresh = remix(7, 2);
    below.of_both(fresh);
    const pipeline::Burst again = below.of_both(fresh);
    EXPECT_EQ(again.doubts, 1U) << "sure by the new one, but an accident in either is one";
}

// The successor cannot estimate the chance that its own match is an accident.
TEST(ReloadBound, is_on_the_chance_of_the_one_before_where_the_other_cannot_tell) {
    const Digest known = remix(7, 1);
    const float chance = TwoFilters(1).chance(0, known);
    for (const engines::Engine second :
         {engines::Engine::kTlbf, engines::Engine::kBtbf, engines::Engine::kExact}) {
        TwoFilters above(chance * 2, second);
        EXPECT_EQ(above.of_both(known).echoes, 1U) << "the old one knows it";
        TwoFilters below(chance / 2, second);
        const pipeline::Burst doubted = below.of_both(known);
        EXPECT_EQ(doubted.echoes, 0U);
        EXPECT_EQ(doubted.doubts, 1U);
        const Digest fresh = remix(7, 2);
        EXPECT_EQ(below.of_both(fresh).echoes, 0U);
        EXPECT_EQ(below.of_both(fresh).echoes, 1U) << "the new one knows it";
    }
}

// --- routes, order, memory ---------------------------------------------------------------------

using ReloadBox = EalTest;

File two_workers() {
    File file = base();
    file["workers"] = {{"lcores", "[0, 1]"}, {"ring_size", "64"}};
    file["route0"]["from"] = R"(["a", "b"])";
    file["filter0"]["same_port"] = "\"0s\"";  // the default depends on the number of ports
    return file;
}

// The sender may already use a route that the receiver does not have yet.
TEST_F(ReloadBox, adopts_before_it_takes_what_another_worker_sends_by_it) {
    File renamed = two_workers();
    renamed["route0"]["name"] = "\"q\"";
    Box box(two_workers());
    constexpr unsigned kPackets = 40;
    const auto offer = [&](unsigned first) {
        for (unsigned i = 0; i < kPackets / 2; ++i) {
            box.offer(0, packet(first + i));
        }
    };
    box.begin(renamed, [&] {
        offer(1);
        box.topology().worker(0).poll_once();
        offer(1 + kPackets / 2);
        box.topology().worker(0).poll_once();
        EXPECT_FALSE(box.topology().adopted()) << "the other one has not polled";
        const std::uint64_t handed = box.topology().worker(0).counters().handed_out;
        EXPECT_GT(handed, 5U);
        box.settle();
    });
    EXPECT_EQ(box.sent(2).size(), kPackets);
    EXPECT_TRUE(box.sent(0).empty());
}

// The reload itself keeps a route until the rings hold no packet for it.
TEST_F(ReloadBox, keeps_a_route_as_long_as_packets_are_on_their_way_to_it) {
    const File both = with(two_workers(), {{"route0", "from", R"(["a"])"}});
    File one = two_workers();
    one.erase("route1");
    one.erase("filter1");
    one["route0"]["on_echo"] = "\"other\"";
    Box box(both);
    appliance::Topology& topology = box.topology();
    const appliance::Machine machine = appliance::machine_with({0, 1});
    const FilterIndex place = box.plan().filter_place(1);
    std::atomic<unsigned> asked{0};
    appliance::RotationTimers turns;
    turns.follow(topology.present(), true, box.now());
    appliance::Reload reload(
        topology, machine, box.config(),
        {[&] { return config::load_text(text_of(one), "box.toml"); }, &asked},
        [](const std::string&) {}, appliance::Reload::ReloadThread::kCaller);
    const auto step = [&] { reload.step(box.now(), turns, true); };

    // One worker receives. The other owns some of the flows and is two bursts behind.
    constexpr PortIndex kFrom = 3;
    const auto receives = [&](std::size_t w) {
        const auto sources = topology.setup(w).receive.sources;
        return std::any_of(sources.begin(), sources.end(),
                           [](const auto& source) { return source.index == kFrom; });
    };
    ASSERT_NE(receives(0), receives(1));
    const std::size_t receiver = receives(0) ? 0 : 1;
    const std::size_t owner = 1 - receiver;
    const rte_ring* const ring = topology.setup(receiver).steering.out[owner];
    unsigned offered = 0;
    while (rte_ring_count(ring) <= 40) {
        box.offer(kFrom, packet(offered++));
        topology.worker(receiver).poll_once();
    }

    asked = 1;
    step();
    ASSERT_TRUE(reload.work_once());
    step();
    topology.worker(receiver).poll_once();
    topology.worker(owner).poll_once();
    ASSERT_TRUE(topology.adopted());
    ASSERT_GT(rte_ring_count(ring), 0U);
    for (unsigned i = 0; i < 4; ++i) {
        step();
        ASSERT_NE(topology.present().filters[place], nullptr) << "packets are on their way to it";
    }
    topology.worker(owner).poll_once();
    ASSERT_EQ(rte_ring_count(ring), 0U);
    for (unsigned i = 0; i < 4; ++i) {
        step();
        box.settle();
    }
    EXPECT_FALSE(reload.busy());
    EXPECT_EQ(topology.present().filters[place], nullptr);
    EXPECT_EQ(box.sent(1).size(), offered);
}

// A caller whose reload waited for another one learns in the end whether it was refused.
TEST_F(ReloadBox, tells_what_became_of_one_that_waited) {
    File file = base();
    Box box(file);
    const appliance::Machine machine = appliance::machine_with({0, 1});
    std::atomic<unsigned> asked{0};
    appliance::RotationTimers turns;
    turns.follow(box.topology().present(), true, box.now());
    appliance::Reload reload(
        box.topology(), machine, box.config(),
        {[&] { return config::load_text(text_of(file), "box.toml"); }, &asked},
        [](const std::string&) {}, appliance::Reload::ReloadThread::kCaller);
    const auto step = [&] { reload.step(box.now(), turns, true); };
    const auto ask_for = [&](const std::string& table, const std::string& key,
                             const std::string& value) {
        file[table][key] = value;
        ++asked;
        step();
        ASSERT_TRUE(reload.work_once());
    };
    const auto finish = [&] {
        for (unsigned i = 0; reload.busy() && i < 1000; ++i) {
            box.wait(kMillisecond);
            step();
        }
        ASSERT_FALSE(reload.busy());
        while (reload.work_once()) {
        }
    };
    ask_for("filter0", "window", "\"30ms\"");
    ASSERT_TRUE(reload.busy());
    EXPECT_FALSE(reload.outcome(0).accepted);
    EXPECT_FALSE(reload.outcome(1).accepted) << "none waits";

    ask_for("filter0", "window", "\"40ms\"");
    ask_for("filter0", "window", "\"50ms\"");
    for (const std::uint64_t number : {1U, 2U}) {
        EXPECT_EQ(reload.outcome(number).waiting, number);
    }
    finish();
    for (const std::uint64_t number : {1U, 2U}) {
        const appliance::ReloadAnswer answer = reload.outcome(number);
        EXPECT_EQ(answer.waiting, 0U);
        EXPECT_TRUE(answer.accepted);
        EXPECT_NE(answer.text.find("\"30ms\" -> \"50ms\""), std::string::npos) << answer.text;
    }
    ASSERT_TRUE(reload.busy()) << "the newest one warms now";

    ask_for("workers", "burst", "16");
    EXPECT_EQ(reload.outcome(3).waiting, 3U);
    finish();
    const appliance::ReloadAnswer refused = reload.outcome(3);
    EXPECT_EQ(refused.waiting, 0U);
    EXPECT_FALSE(refused.accepted);
    EXPECT_NE(refused.text.find("workers.burst: 32 -> 16 needs a restart"), std::string::npos)
        << refused.text;
    EXPECT_TRUE(reload.outcome(2).accepted) << "what became of those before stays";
}

// The third packet of a flow is an echo.
TEST_F(ReloadBox, keeps_a_filter_of_any_engine_if_nothing_of_it_changes) {
    for (const engines::EngineInfo& engine : engines::kEngineTable) {
        SCOPED_TRACE(engine.name);
        const File before =
            with(base(), {{"filter0", "engine", "\"" + std::string(engine.name) + "\""},
                          {"filter0", "key", "\"flow\""},
                          {"filter0", "first", "2"}});
        Box box(before);
        EXPECT_EQ(box.see(0, packet(1, 0)), Verdict::kPassed);
        EXPECT_EQ(box.see(0, packet(1, 1)), Verdict::kPassed);
        const auto renamed = box.begin(with(before, {{"route0", "name", "\"q\""}}));
        EXPECT_EQ(renamed.change.filters[0], FilterChange::kKept);
        EXPECT_EQ(box.see(0, packet(1, 2)), Verdict::kEcho);
        const auto faster = box.begin(with(before, {{"filter0", "rate", "\"200kpps\""}}));
        EXPECT_NE(faster.change.filters[0], FilterChange::kKept);
    }
}

// A generation of a filter that stays must not start anew: it would exceed the promised slack.
TEST_F(ReloadBox, goes_on_with_turns_and_what_was_the_longest) {
    File renamed = base();
    renamed["route0"]["name"] = "\"q\"";
    Box box(base());
    box.pass_time(20 * kMillisecond);
    const FilterIndex place = box.plan().filter_place(0);
    const Nanoseconds due = box.turns().due();
    const Nanoseconds longest = box.turns().longest(place);
    EXPECT_GT(longest, 0U);
    box.begin(renamed);
    EXPECT_EQ(box.turns().due(), due);
    EXPECT_EQ(box.turns().longest(place), longest);
}

// Counters continue when one filter follows another.
TEST_F(ReloadBox, goes_on_counting) {
    File wider = base();
    wider["filter0"]["window"] = "\"30ms\"";
    Box box(base());
    for (unsigned i = 0; i < 10; ++i) {
        box.see(0, packet(i));
    }
    box.begin(wider);
    for (unsigned i = 10; i < 15; ++i) {
        box.see(0, packet(i));
    }
    box.topology().shared(0).snapshot_wanted++;
    box.poll();
    EXPECT_EQ(box.topology().shared(0).filters[0].insertions, 15U);
}

// An audit begins anew with the points of a path, and goes on where these stay.
TEST_F(ReloadBox, begins_an_audit_anew_with_other_points_of_a_path) {
    // same_port is set because its default depends on the number of ports.
    const File before =
        with(base(), {{"route0", "from", R"(["a", "b"])"}, {"filter0", "same_port", "\"0s\""}});
    struct PathChange {
        const char* name;
        std::vector<Edit> edits;
        bool anew;
    };
    for (const PathChange& change :
         std::vector<PathChange>{{"nothing", {}, false},
                                 {"another route", {{"route1", "on_echo", "\"pass\""}}, false},
                                 {"a name", {{"route0", "name", "\"q\""}}, false},
                                 {"a path", {{"route0", "path", R"(["a", "b"])"}}, true},
                                 {"the way back", {{"route0", "path", R"(["b", "a"])"}}, true},
                                 {"other ports", {{"route0", "from", R"(["a"])"}}, true},
                                 {"a limit", {{"route0", "max_path_delay", "\"1ms\""}}, true}}) {
        SCOPED_TRACE(change.name);
        Box box(before);
        const auto plan = box.begin(with(before, change.edits));
        EXPECT_EQ(plan.change.filters[0], FilterChange::kKept);
        EXPECT_EQ(plan.change.audit_anew[0], change.anew);
        EXPECT_FALSE(plan.change.audit_anew[1]);
        while (box.warming()) {
            box.pass_time(kMillisecond);
        }
        const auto again = box.begin(with(before, change.edits));
        EXPECT_FALSE(again.change.audit_anew.size() > 0 && again.change.audit_anew[0]);
    }
}

}  // namespace
}  // namespace unecho::test
