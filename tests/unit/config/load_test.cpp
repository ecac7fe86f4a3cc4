// SPDX-License-Identifier: BSD-3-Clause
#include "config/load.h"

#include <initializer_list>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/fields.h"
#include "config/source.h"
#include "working_directory.h"

namespace unecho::config {
namespace {

// Every key of the schema, with a value that is not its default.
constexpr const char* kEverything = R"([eal]
args = ["--in-memory", "-m", "512"]

[[port]]
name = "in"
device = "0000:3b:00.0,x=1"
rx_queues = 3
tx_queues = 4
rx_descriptors = 64
tx_descriptors = 32768
mtu = 9000
promiscuous = false

[[port]]
name = "out.1"
device = "net_null0"

[[port]]
name = "echoes"
device = "net_null1"

[[filter]]
name = "targets"
key = "flow-bidir"
window = "1.5s"
engine = "exact"
rate = "14.88Mpps"
max_false_drop = 0.25
memory = "64MiB"
policy = "refresh"
first = 10

[[filter]]
name = "geometry"
window = "20ms"
engine = "apbbf"
geometry = { k = 3, l = 8, segment_bits = "256KiB", block_bits = 256, bits_per_key = 5 }
rule = "penalty"
false_drop_cost = 5e3
leak_cost = 2
class = [{ dscp = [46, 0], leak_cost = 3 }]

[[route]]
from = ["in"]
to = "out.1"
filter = "targets"
on_echo = "echoes"
allow_flow_drop_on_link = true

[[route]]
name = "back.1"
from = ["out.1"]
to = "in"
filter = "geometry"
on_echo = "pass"

[workers]
lcores = [2, 127, 0]
steering = "ring"
ring_size = 4096
burst = 16
isa = "avx2"

[control]
lcore = 1
link_check = "1s"
drain_timeout = "2s"

[audit]
enabled = true
memory = "1MiB"
verify = "bytes"

[state]
dir = "/run/unecho/state"

[run]
name = "probe-7"
telemetry_group = "watchers"
clock = "tsc"
duration = "1h"
stop_when_idle = "200ms"
seed = 9223372036854775807
tx_retry = "0us"
stall_threshold = "1ms"
mbufs = 65535
lock_memory = true

[[port]]
name = "tap.1"
device = "net_null2"

[[port]]
name = "tap.2"
device = "net_null3"

[[route]]
from = ["tap.2", "tap.1"]
to = "out.1"
filter = "third"
report_taps = true
report_window = "10s"
report_flows = 1000
allow_non_ip_drop_on_link = true
allow_tunnel_drop_on_link = true
path = ["tap.1", "tap.2"]
path_packets = "all"
max_path_loss = 0.25
max_path_delay = "800us"

[[filter]]
name = "third"
non_ip = "frame"
tunnels = ["vxlan", "gtp-u"]
vxlan_ports = [4799, 4800]
tenant = "match"
tags = "compare"
key_bytes = 64
window = "1ms"
rate = "1Mpps"

[[port]]
name = "tap.3"
device = "net_null4"

[[route]]
from = ["tap.3"]
to = "out.1"
filter = "shared"

[[filter]]
name = "shared"
key = "flow"
first = 2
window = "2s"
rate = "1Mpps"
[filter.root]
redis = ["[::1]:6379", "redis:6380"]
secret_file = "secret"
flows = 5000
name = "sites"
user = "some"
password_file = "password"
timeout = "20ms"
required = true
on_root = "count"
)";

Config load_valid(const std::string& text) {
    const LoadResult result = load_text(text, "valid.toml");
    if (!result) {
        ADD_FAILURE() << to_text(result.error(), "valid.toml");
        return {};
    }
    return *result;
}

std::vector<Problem> load_invalid(const std::string& text) {
    const LoadResult result = load_text(text, "broken.toml");
    return result ? std::vector<Problem>{} : result.error();
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
    const std::size_t at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return text.replace(at, what.size(), with);
}

TEST(Load, ports_are_read_back) {
    const Config config = load_valid(kEverything);
    EXPECT_EQ(config.path, "valid.toml");
    EXPECT_EQ(config.eal, (Eal{{"--in-memory", "-m", "512"}}));
    ASSERT_EQ(config.ports.size(), 6U);
    EXPECT_EQ(config.ports[0],
              (Port{"in", "0000:3b:00.0,x=1", 3, 4, 64, 32768, 9000, false, "", 4}));
    Port plain;
    plain.name = "out.1";
    plain.device = "net_null0";
    plain.line = 14;
    EXPECT_EQ(config.ports[1], plain);
}

TEST(Load, filters_are_read_back) {
    const Config config = load_valid(kEverything);
    ASSERT_EQ(config.filters.size(), 4U);
    Filter targets;
    targets.name = "targets";
    targets.key = packet::KeyMode::kFlowBidir;
    targets.tags = packet::Tags::kCompare;
    targets.window = 1'500'000'000;
    targets.engine = Engine::kExact;
    targets.rate = 14.88e6;
    targets.max_false_drop = 0.25;
    targets.memory = std::uint64_t{64} << 20;
    targets.policy = Policy::kRefresh;
    targets.first = 10;
    targets.rule = Rule::kMatch;
    targets.repeats = packet::Repeats::kDrop;
    targets.line = 22;
    EXPECT_EQ(config.filters[0], targets);
    Filter geometry;
    geometry.name = "geometry";
    geometry.tags = packet::Tags::kCompare;
    geometry.window = 20'000'000;
    geometry.engine = Engine::kApbbf;
    geometry.geometry = Geometry{3, 8, std::uint64_t{256} << 13, 256, 5};
    geometry.rule = Rule::kPenalty;
    geometry.false_drop_cost = 5000;
    geometry.leak_cost = 2;
    geometry.classes = {{{46, 0}, std::nullopt, 3.0}};
    geometry.repeats = packet::Repeats::kKeep;
    geometry.point = packet::Point::kPort;
    geometry.same_port = Nanoseconds{0};
    geometry.line = 33;
    EXPECT_EQ(config.filters[1], geometry);
    EXPECT_EQ(config.filters[2].non_ip, packet::NonIp::kFrame);
}

// One port feeds the filter, several do, or the filter is on a link.
TEST(Load, repeats_are_told_apart_by_where_the_filter_stands) {
    const auto filter = [](const std::string& from, const std::string& keys,
                           const std::string& more) {
        const Config config = load_valid(
            "[[port]]\nname = \"a\"\ndevice = \"net_null0\"\n"
            "[[port]]\nname = \"b\"\ndevice = \"net_null1\"\n"
            "group = \"lag\"\n"
            "[[port]]\nname = \"tool\"\ndevice = \"net_null2\"\n"
            "[[filter]]\nname = \"f\"\nwindow = \"1ms\"\n"
            "rate = \"1Mpps\"\n" +
            keys + "[[route]]\nfrom = " + from + "\nto = \"tool\"\nfilter = \"f\"\n" + more);
        EXPECT_EQ(config.ports.at(1).group, "lag");
        return config.filters.at(0);
    };
    const std::string back = "[[route]]\nfrom = [\"tool\"]\nto = \"a\"\nfilter = \"f\"\n";
    const Filter several = filter("[\"a\", \"b\"]", "", "");
    EXPECT_TRUE(several.keeps_repeats());
    EXPECT_EQ(several.point, packet::Point::kLink);
    EXPECT_EQ(several.same_port, Nanoseconds{0});
    const Filter link = filter("[\"a\", \"b\"]", "", back);
    EXPECT_TRUE(link.keeps_repeats());
    EXPECT_EQ(link.point, packet::Point::kPort);
    EXPECT_EQ(link.same_port, Nanoseconds{0});
    const Filter asked = filter("[\"a\", \"b\"]",
                                "repeats = \"keep\"\npoint = \"port\"\nsame_port = \"10us\"\n"
                                "views = 4\nsecond_looks = \"all\"\nunidentified = 0.25\n",
                                "");
    EXPECT_EQ(asked.point, packet::Point::kPort);
    EXPECT_EQ(asked.same_port, 10 * kMicrosecond);
    EXPECT_EQ(asked.views, 4U);
    EXPECT_EQ(asked.second_looks, packet::SecondLooks::kAll);
    EXPECT_EQ(asked.unidentified, 0.25);
    EXPECT_FALSE(filter("[\"a\", \"b\"]", "repeats = \"drop\"\n", "").keeps_repeats());
    EXPECT_FALSE(filter("[\"a\", \"b\"]", "key = \"flow\"\n", "").keeps_repeats());
}

// Each direction needs its permission, with drop and with divert. A dry run loses nothing.
TEST(Load, what_live_traffic_would_miss_is_taken_from_a_link_by_name_alone) {
    const auto text = [](const std::string& keys, const std::string& route) {
        const std::string third = route.starts_with("on_echo = \"c\"")
                                      ? "[[port]]\nname = \"c\"\ndevice = \"net_null2\"\n"
                                      : "";
        return "[[port]]\nname = \"a\"\ndevice = \"net_null0\"\n[[port]]\nname = \"b\"\n"
               "device = \"net_null1\"\n" +
               third + "[[filter]]\nname = \"f\"\nwindow = \"1ms\"\nrate = \"1Mpps\"\n" + keys +
               "[[route]]\nfrom = [\"a\"]\nto = \"b\"\nfilter = \"f\"\n" + route +
               "[[route]]\nfrom = [\"b\"]\nto = \"a\"\nfilter = \"f\"\n" + route;
    };
    for (const auto& [keys, kind] : {std::pair{"key = \"flow\"\n", "flow"},
                                     {"non_ip = \"frame\"\n", "non_ip"},
                                     {"tunnels = \"all\"\n", "tunnel"},
                                     {"repeats = \"drop\"\n", "repeat"},
                                     {"point = \"link\"\n", "repeat"},
                                     {"same_port = \"10us\"\n", "repeat"}}) {
        const std::string permission = std::string("allow_") + kind + "_drop_on_link = true";
        for (const std::string action : {"", "on_echo = \"c\"\n"}) {
            const std::vector<Problem> refused = load_invalid(text(keys, action));
            ASSERT_EQ(refused.size(), 2U) << keys << action;
            EXPECT_EQ(refused[0].key, "route[0].on_echo");
            EXPECT_EQ(refused[1].key, "route[1].on_echo");
            EXPECT_NE(refused[0].message.find(permission), std::string::npos) << keys;
            load_valid(text(keys, action + permission + "\n"));
        }
        load_valid(text(keys, "on_echo = \"pass\"\n"));
    }
    load_valid(text("", ""));
    const std::string both = "key = \"flow\"\ntunnels = \"all\"\n";
    EXPECT_EQ(load_invalid(text(both, "allow_tunnel_drop_on_link = true\n")).size(), 2U);
}

// The VLANs of a trunk are separate networks.
TEST(Load, tags_count_on_links_unless_they_are_said_not_to) {
    const auto tags = [](const std::string& key, bool link) {
        std::string text = R"([[port]]
name = "a"
device = "net_null0"
[[port]]
name = "b"
device = "net_null1"
[[filter]]
name = "one"
window = "1ms"
rate = "1Mpps"
)" + key + R"(
[[route]]
from = ["a"]
to = "b"
filter = "one"
on_echo = "pass"
)";
        text +=
            link ? "[[route]]\nfrom = [\"b\"]\nto = \"a\"\nfilter = \"one\"\non_echo = \"pass\"\n"
                 : "";
        return load_valid(text).filters[0].tags;
    };
    EXPECT_EQ(tags("", true), packet::Tags::kCompare);
    EXPECT_EQ(tags("key = \"flow\"", true), packet::Tags::kCompare);
    EXPECT_EQ(tags("tags = \"ignore\"", true), packet::Tags::kIgnore);
    EXPECT_EQ(tags("key = \"frame\"", true), std::nullopt);
    EXPECT_EQ(tags("", false), std::nullopt);
    EXPECT_EQ(tags("tags = \"compare\"", false), packet::Tags::kCompare);
}

TEST(Load, routes_are_read_back) {
    const Config config = load_valid(kEverything);
    ASSERT_EQ(config.routes.size(), 4U);
    Route in;
    in.name = "in>out.1";
    in.from = {0};
    in.to = 1;
    in.on_echo = EchoAction::kDivert;
    in.divert_to = 2;
    in.allow_flow_drop_on_link = true;
    in.line = 43;
    EXPECT_EQ(config.routes[0], in);
    Route back;
    back.name = "back.1";
    back.from = {1};
    back.filter = 1;
    back.on_echo = EchoAction::kPass;
    back.line = 50;
    EXPECT_EQ(config.routes[1], back);
    Route taps;
    taps.name = "tap.2+tap.1>out.1";
    taps.from = {4, 3};
    taps.to = 1;
    taps.filter = 2;
    taps.allow_non_ip_drop_on_link = true;
    taps.allow_tunnel_drop_on_link = true;
    taps.report_taps = true;
    taps.report_window = 10 * kSecond;
    taps.report_flows = 1000;
    taps.path = {3, 4};
    taps.max_path_loss = 0.25;
    taps.path_packets = PathPackets::kAll;
    taps.max_path_delay = 800 * kMicrosecond;
    taps.line = 97;
    EXPECT_EQ(config.routes[2], taps);
}

TEST(Load, workers_control_audit_state_and_run_are_read_back) {
    const Config config = load_valid(kEverything);
    EXPECT_EQ(
        config.workers,
        (Workers{
            {{2, 127, 0}}, SteeringMode::kRing, 4096, 16, engines::wish_for(filter::Isa::kAvx2)}));
    EXPECT_EQ(config.control, (Control{1, kSecond, 2 * kSecond}));
    EXPECT_EQ(config.audit, (Audit{true, 1 << 20, engines::AuditVerify::kBytes}));
    EXPECT_EQ(config.state, (unecho::config::State{"/run/unecho/state"}));
    EXPECT_EQ(config.run,
              (unecho::config::Run{"probe-7", "watchers", Clock::kTsc, kHour, 200 * kMillisecond,
                                   INT64_MAX, 0, kMillisecond, 65535, true}));
}

TEST(Load, audit_is_on_unless_it_is_switched_off) {
    const WorkingDirectory directory;
    const std::string base = read_source_file("tests/unit/config/base.toml");
    EXPECT_TRUE(load_valid(base).audit.enabled);
    EXPECT_FALSE(load_valid(base + "[audit]\nenabled = false\n").audit.enabled);
}

TEST(Load, capture_clock_is_read_back) {
    const WorkingDirectory directory;
    const Config config = load_valid(replaced(read_source_file("tests/unit/config/base.toml"),
                                              "clock = \"tsc\"", "clock = \"capture\""));
    EXPECT_EQ(config.run.clock, Clock::kCapture);
    EXPECT_EQ(config.routes[0].from, (std::vector<PortIndex>{0, 1}));
    EXPECT_FALSE(config.routes[0].report_taps);
    EXPECT_FALSE(config.routes[0].report_window);
    EXPECT_FALSE(config.routes[0].report_flows);
    EXPECT_TRUE(config.routes[0].path.empty());
    EXPECT_FALSE(config.routes[0].max_path_loss);
    EXPECT_FALSE(config.routes[0].max_path_delay);
    EXPECT_EQ(config.routes[0].to, 2);
}

TEST(Load, roots_are_read_back) {
    const Config config = load_valid(kEverything);
    ASSERT_EQ(config.filters.size(), 4U);
    EXPECT_FALSE(config.filters[0].root);
    EXPECT_EQ(config.filters[3].root, (SharedFlows{{"[::1]:6379", "redis:6380"},
                                                   "sites",
                                                   "secret",
                                                   5000,
                                                   "some",
                                                   "password",
                                                   20 * kMillisecond,
                                                   true,
                                                   OnRoot::kCount}));
}

TEST(Load, everything_above_names_every_known_key) {
    for (const KnownKey& known : known_keys()) {
        if (known.key == "lines" || known.key == "lines_per_key" ||
            known.key == "fingerprint_bits" || known.key == "on_full" || known.key == "repeats" ||
            known.key == "point" || known.key == "same_port" || known.key == "views" ||
            known.key == "second_looks" || known.key == "unidentified" || known.key == "group" ||
            known.key == "allow_repeat_drop_on_link") {
            continue;  // tested on their own
        }
        EXPECT_NE(std::string(kEverything).find(known.key + " = "), std::string::npos) << known.key;
    }
}

TEST(Load, every_name_of_an_enum_is_read) {
    const auto with = [](const std::string& what, std::string_view name) {
        return load_valid(replaced(
            kEverything, what, what.substr(0, what.find('"')) + "\"" + std::string(name) + "\""));
    };
    for (std::size_t i = 0; i < kKeyNames.size(); ++i) {
        const std::string text = replaced(kEverything, "first = 10\n", "");
        const Config config = load_valid(
            replaced(text, "key = \"flow-bidir\"", "key = \"" + std::string(kKeyNames[i]) + "\""));
        EXPECT_EQ(static_cast<std::size_t>(config.filters[0].key), i);
    }
    for (std::size_t i = 0; i < kEngineNames.size(); ++i) {
        EXPECT_EQ(with("engine = \"exact\"", kEngineNames[i]).filters[0].engine,
                  static_cast<Engine>(i));
    }
    for (std::size_t i = 0; i < kPolicyNames.size(); ++i) {
        EXPECT_EQ(with("policy = \"refresh\"", kPolicyNames[i]).filters[0].policy,
                  static_cast<Policy>(i));
    }
    for (std::size_t i = 0; i < kIsaWishNames.size(); ++i) {
        EXPECT_EQ(with("isa = \"avx2\"", kIsaWishNames[i]).workers.isa, static_cast<IsaWish>(i));
    }
    for (std::size_t i = 0; i < kSteeringNames.size(); ++i) {
        EXPECT_EQ(with("steering = \"ring\"", kSteeringNames[i]).workers.steering,
                  static_cast<SteeringMode>(i));
    }
}

TEST(Load, geometry_of_each_engine_is_read_back) {
    for (const auto& [engine, text, geometry] :
         {std::tuple{"line", "{ k = 2, bits_per_key = 4, lines = 100000, lines_per_key = 3 }",
                     Geometry{2, 0, 0, 512, 4, 100'000, 3}},
          {"fingerprint", "{ fingerprint_bits = 26, lines = 100000 }",
           Geometry{.lines = 100'000, .fingerprint_bits = 26}},
          {"apbf", "{ k = 10, l = 7, segment_bits = 1000 }", Geometry{10, 7, 1000, 512, 0}}}) {
        const std::string changed = replaced(
            kEverything,
            "{ k = 3, l = 8, segment_bits = \"256KiB\", block_bits = 256, bits_per_key = 5 }",
            text);
        const std::string named = "engine = \"" + std::string(engine) + "\"";
        EXPECT_EQ(load_valid(replaced(changed, "engine = \"apbbf\"", named)).filters[1].geometry,
                  geometry)
            << engine;
    }
}

// Remove line numbers, to compare files that differ in them.
Config without_lines(Config config) {
    for (Port& port : config.ports) {
        port.line = 0;
    }
    for (Filter& filter : config.filters) {
        filter.line = 0;
    }
    for (Route& route : config.routes) {
        route.line = 0;
    }
    return config;
}

TEST(Load, default_written_out_means_the_same_as_absent) {
    const std::string base = R"([[port]]
name = "a"
device = "net_null0"
[[port]]
name = "b"
device = "net_null1"
[[port]]
name = "c"
device = "net_null2"
[[filter]]
name = "f"
key = "flow"
window = "1s"
rate = "1kpps"
rule = "penalty"
[[filter]]
name = "g"
key = "flow"
first = 2
window = "1s"
rate = "1kpps"
[filter.root]
redis = ["127.0.0.1:6379"]
secret_file = "secret"
flows = 1000
[[route]]
from = ["a"]
to = "b"
filter = "f"
[[route]]
from = ["c"]
to = "b"
filter = "g"
[eal]
[workers]
[control]
[audit]
[run]
)";
    const Config absent = without_lines(load_valid(base));
    int tried = 0;
    for (const KnownKey& known : known_keys()) {
        const bool inside = known.section == "filter.geometry" || known.key == "key";
        if (known.fallback.empty() || inside) {
            continue;
        }
        const std::string header = base.find("[[" + known.section + "]]") != std::string::npos
                                       ? "[[" + known.section + "]]\n"
                                       : "[" + known.section + "]\n";
        const std::string text =
            replaced(base, header, header + known.key + " = " + known.fallback + "\n");
        EXPECT_EQ(without_lines(load_valid(text)), absent) << known.key << " = " << known.fallback;
        ++tried;
    }
    EXPECT_GE(tried, 15);
    EXPECT_EQ(Filter{}.key, packet::KeyMode::kPacket);
    EXPECT_EQ(Geometry{}.block_bits, 512U);
}

TEST(Load, several_problems_come_at_once_in_the_order_of_the_file) {
    std::string text = replaced(kEverything, "rx_queues = 3", "rx_queues = 65");
    text = replaced(text, "window = \"20ms\"", "windw = \"20ms\"");
    text = replaced(text, "to = \"out.1\"", "to = \"out.2\"");
    text = replaced(text, "steering = \"ring\"", "steering = \"wheel\"");
    text = replaced(text, "\"--in-memory\"", "\"-l\"");
    std::vector<std::string> told;
    for (const Problem& problem : load_invalid(text)) {
        told.push_back(std::to_string(problem.line) + " " + problem.key);
    }
    EXPECT_EQ(told, (std::vector<std::string>{"2 eal.args[0]", "7 port[0].rx_queues",
                                              "35 filter[1].windw", "45 route[0].to",
                                              "59 workers.steering"}));
}

TEST(Load, echoes_become_what_an_action_or_a_port_says) {
    const auto loaded = [](std::string_view on_echo) {
        return load_text(replaced(kEverything, "on_echo = \"pass\"",
                                  "on_echo = \"" + std::string(on_echo) + "\""),
                         "x");
    };
    for (const pipeline::EchoActionInfo& info : pipeline::kEchoActionTable) {
        const bool to_port = names_port(info.action);
        const LoadResult config = loaded(to_port ? "echoes" : info.name);
        ASSERT_TRUE(config) << info.words;
        EXPECT_EQ(config->routes[1].on_echo, info.action) << info.words;
        EXPECT_EQ(config->routes[1].divert_to, to_port ? 2U : 0U) << info.words;
    }
    EXPECT_FALSE(loaded(""));
}

packet::EncapsulationSet set_of(std::initializer_list<packet::Encapsulation> listed) {
    packet::EncapsulationSet set;
    for (const packet::Encapsulation one : listed) {
        set.add(one);
    }
    return set;
}

// Return the third filter of kEverything with these keys about tunnels instead of its own.
Filter opening_filter(const std::string& keys) {
    const std::string everything = kEverything;
    const std::size_t from = everything.find("tunnels = ");
    const std::string own = everything.substr(from, everything.find("window", from) - from);
    return load_valid(replaced(everything, own, keys)).filters.at(2);
}

TEST(Load, tunnels_are_all_none_or_those_of_a_list) {
    using packet::Encapsulation;
    EXPECT_FALSE(opening_filter("").tunnels.any());
    EXPECT_FALSE(opening_filter("tunnels = \"none\"\n").tunnels.any());
    EXPECT_FALSE(opening_filter("tunnels = []\n").tunnels.any());
    EXPECT_EQ(opening_filter("tunnels = \"all\"\n").tunnels, packet::EncapsulationSet::all());
    EXPECT_EQ(opening_filter("tunnels = [\"gtp-u\", \"vxlan\"]\n").tunnels,
              set_of({Encapsulation::kVxlan, Encapsulation::kGtpU}));
    for (const packet::EncapsulationInfo& info : packet::kEncapsulations) {
        const std::string list = "tunnels = [\"" + std::string(info.name) + "\"]\n";
        EXPECT_EQ(opening_filter(list).tunnels, set_of({info.encapsulation})) << info.name;
    }
}

TEST(Load, keys_of_tunnels_are_as_they_are_written) {
    const Filter plain = opening_filter("");
    EXPECT_TRUE(plain.vxlan_ports.empty());
    EXPECT_EQ(plain.tenant, std::nullopt);
    EXPECT_EQ(plain.key_bytes, std::nullopt);
    const Filter given = opening_filter(
        "tunnels = \"all\"\nvxlan_ports = [65535, 1, 4799]\ntenant = \"match\"\nkey_bytes = 20\n");
    EXPECT_EQ(given.vxlan_ports, (std::vector<std::uint16_t>{65535, 1, 4799}));
    EXPECT_EQ(given.tenant, packet::Tenant::kMatch);
    EXPECT_EQ(given.key_bytes, 20U);
    EXPECT_EQ(opening_filter("key_bytes = 9000\n").key_bytes, 9000U);  // needs no tunnels
    const Filter ignoring = opening_filter("tunnels = [\"gre\"]\ntenant = \"ignore\"\n");
    EXPECT_EQ(ignoring.tenant, packet::Tenant::kIgnore);
    EXPECT_EQ(opening_filter("tunnels = \"all\"\nvxlan_ports = [1, 2, 3, 4, 5, 6, 7, 8]\n")
                  .vxlan_ports.size(),
              packet::Tunnels::kMaxVxlanPorts);
}

TEST(Load, sections_that_are_missing_are_named) {
    std::vector<std::string> keys;
    for (const Problem& problem : load_invalid("# nothing\n\n[run]\n")) {
        keys.push_back(problem.key);
        EXPECT_EQ(problem.line, 1);
        EXPECT_EQ(problem.message, "at least one [[" + problem.key + "]] is needed");
    }
    EXPECT_EQ(keys, (std::vector<std::string>{"port", "filter", "route"}));
}

// n ports that all send to one more, each with its own route and filter.
std::string many(unsigned n) {
    std::string text = "[[port]]\nname = \"to\"\ndevice = \"net_null\"\n";
    for (unsigned i = 1; i < n; ++i) {
        const std::string name = "p" + std::to_string(i);
        text += "[[port]]\nname = \"" + name + "\"\ndevice = \"net_null" + std::to_string(i) +
                "\"\n[[filter]]\nname = \"" + name +
                "\"\nwindow = \"1s\"\nrate = \"1kpps\"\n[[route]]\nfrom = [\"" + name +
                "\"]\nto = \"to\"\nfilter = \"" + name + "\"\n";
    }
    return text;
}

TEST(Load, tables_beyond_the_limit_are_one_problem_each) {
    EXPECT_TRUE(load_text(many(kMaxPorts), "x").has_value());
    const std::vector<Problem> problems = load_invalid(many(kMaxPorts + 2));
    ASSERT_EQ(problems.size(), 3U);
    EXPECT_EQ(problems[0].key, "port[32]");
    EXPECT_EQ(problems[0].message, "one more than the 32 [[port]] that one process takes");
    EXPECT_EQ(problems[1].key, "filter[32]");
    EXPECT_EQ(problems[2].key, "route[32]");
}

TEST(Load, inline_tables_are_as_good_as_sections) {
    const Config config = load_valid(R"(
port = [ { name = "a", device = "net_null0" }, { name = "b", device = "net_null1" } ]
filter = [ { name = "f", window = "1s", rate = "1kpps" } ]
route = [ { from = ["a"], to = "b", filter = "f" } ]
)");
    ASSERT_EQ(config.ports.size(), 2U);
    EXPECT_EQ(config.ports[1].line, 2);
    EXPECT_EQ(config.routes[0].to, 1);
}

TEST(Load, list_of_no_tables_is_a_problem) {
    const std::vector<Problem> problems =
        load_invalid("port = [ 1, { x = 1 } ]\nfilter = 2\nroute = []\n");
    ASSERT_EQ(problems.size(), 3U);
    EXPECT_EQ(problems[0].key, "port[0]");
    EXPECT_EQ(problems[1].key, "filter");
    EXPECT_EQ(problems[2].message, "at least one [[route]] is needed");
}

TEST(Load, control_characters_never_reach_a_message) {
    const std::vector<Problem> problems = load_invalid(
        replaced(kEverything, "window = \"1.5s\"", "window = \"1\\n2\\u0000\\u007f\""));
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_TRUE(problems[0].message.starts_with("\"1\\x0a2\\x00\\x7f\" is not a duration"))
        << problems[0].message;
}

TEST(Load, deep_nesting_is_a_problem_and_no_crash) {
    std::string dotted;
    while (dotted.size() + 2 < kMaxLineBytes / 2) {
        dotted += "a.";
    }
    const std::string header = "[" + dotted + "a]\n";
    EXPECT_FALSE(load_invalid(header + dotted + "b = 1\n").empty());
    EXPECT_FALSE(load_invalid("a = " + std::string(2000, '[') + "\n").empty());
}

std::string complaint(const std::string& text) {
    return to_text(load_invalid(text), "x");
}

TEST(Load, tables_have_names) {
    for (const std::string header : {"[?x]", "[[?x]]", "[ ?x]", "[[\t?x]]", "[=]", "[", "[[", "[ ",
                                     "[#x]", "[,x]", "[[[x]]]"}) {
        EXPECT_EQ(
            complaint("# first\n" + header + "\nname = 1\n"),
            "x:2: syntax: column 1: the name of a table begins with a letter, a digit, _ or -, "
            "or is in quotes\n")
            << header;
    }
    for (const std::string header :
         {"[]", "[[]]", "[\"?x\"]", "['?']", "[-x]", "[_x]", "[0]", "[Z]"}) {
        EXPECT_EQ(complaint(header + "\n").find("the name of a table"), std::string::npos)
            << header;
    }
    EXPECT_EQ(complaint("a = [\n[1],\n['?']]\nb = '['\n# [\nc = [[]]\n [?]").substr(0, 22),
              "x:7: syntax: column 2:");
}

// toml++ 3.3 has undefined behaviour for a lone digit after a date, so the loader must refuse it.
TEST(Load, lists_have_values_with_commas_between_them) {
    const std::string missing =
        "a value is missing between the bracket or comma of a list and this }\n";
    const std::string two =
        "two numbers stand side by side; a comma is missing, or they are one too many\n";
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"a = [}", "1: syntax: column 6: " + missing},
        {"a = [\"x\",}", "1: syntax: column 10: " + missing},
        {"a = [1, # one\n  }]", "2: syntax: column 3: " + missing},
        {"a = [[1], [ }", "1: syntax: column 13: " + missing},
        {"a = 2026-01-01 6", "1: syntax: column 16: " + two},
        {"a = [1,2026-01-01 6]", "1: syntax: column 19: " + two},
        {"a = [\n1,\n2026-01-01\t6\n]", "3: syntax: column 12: " + two},
        {"a = [1\n2]", "2: syntax: column 1: " + two},
    };
    for (const auto& [text, expected] : cases) {
        EXPECT_EQ(complaint(text), "x:" + expected) << text;
    }
    for (const std::string text : {"a = []", "a = [{}]", "a = [{b = 1}, {}]", "a = ['}']",
                                   "a = [\n# }\n]", "a = {}", "a = [", "a = 1\n2 = 3", "a = [1, 2]",
                                   "a = [1, # 2\n3]", "a = '1 2'", "a = 1 # 2", "[a]\n1 = 2"}) {
        const std::string said = complaint(text);
        EXPECT_EQ(said.find("a value is missing"), std::string::npos) << text;
        EXPECT_EQ(said.find("side by side"), std::string::npos) << text;
    }
}

TEST(Load, letters_beyond_ascii_stand_in_comments_and_values_only) {
    const WorkingDirectory directory;
    WorkingDirectory::write("caf\xc3\xa9.pcap", "x");
    const std::string base = read_source_file("tests/unit/config/base.toml");
    EXPECT_TRUE(load_text("\xef\xbb\xbf# caf\xc3\xa9\n" +
                              replaced(base, "pcaps/two-taps-a.pcap", "caf\xc3\xa9.pcap"),
                          "x")
                    .has_value());
    const std::string outside =
        "only comments and values in quotes may hold other letters than those of ASCII";
    const std::string three =
        "a string in three quotes is not taken here; write it on one line in one pair of quotes";
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"z\xc3\xa9 = 1", "1: syntax: column 2: " + outside},
        {"\n\"z\xc3\xa9\" = 1", "2: syntax: column 3: " + outside},
        {"a = 1\xc3\xa9", "1: syntax: column 6: " + outside},
        {"a = x\"\xc3\xa9\"", "1: syntax: column 7: " + outside},
        {"a = 1.\"\xc3\xa9\"", "1: syntax: column 8: " + outside},
        {"a = -[\"\xc3\xa9\"]", "1: syntax: column 8: " + outside},
        {"a = 5=\"\xc3\xa9\"", "1: syntax: column 8: " + outside},
        {"a = [\n1, 5=\"\xc3\xa9\"]", "2: syntax: column 7: " + outside},
        {"a = {b = 5=\"\xc3\xa9\"}", "1: syntax: column 13: " + outside},
        {"a = 1, \"\xc3\xa9\"", "1: syntax: column 9: " + outside},
        {"[\"\xc3\xa9\"]", "1: syntax: column 3: " + outside},
        {"a = \"\\\"\" \xc3\xa9", "1: syntax: column 10: " + outside},
        {"a = '\\' \xc3\xa9", "1: syntax: column 9: " + outside},
        {"a = \"\n\xc3\xa9", "2: syntax: column 1: " + outside},
        {"a = \"\"\"\nb\"\"\"", "1: syntax: column 5: " + three},
        {"a = '''b'''", "1: syntax: column 5: " + three},
    };
    for (const auto& [text, expected] : cases) {
        EXPECT_EQ(to_text(load_invalid(text), "x"), "x:" + expected + "\n") << text;
    }
    for (const std::string text :
         {"a = \"\xc3\xa9\"", "a = [\n'\xc3\xa9', # \xc3\xa9\n\"\xc3\xa9\"]",
          "a = [[1], [\"\xc3\xa9\"]]", "a = {b = 1, c = ['\xc3\xa9', {d = '\xc3\xa9'}]}"}) {
        EXPECT_EQ(complaint(text).find(outside), std::string::npos) << text;
    }
}

struct FileCase {
    const char* name;
    std::string text;
    std::string expected;
};

TEST(LoadFile, what_is_no_configuration_is_one_problem) {
    const WorkingDirectory directory;
    const std::vector<FileCase> cases = {
        {"empty", "", "f: file: is empty; a configuration needs [[port]], [[filter]], [[route]]\n"},
        {"blank", " \n\t\r\n",
         "f: file: is empty; a configuration needs [[port]], [[filter]], [[route]]\n"},
        {"capture", std::string("\xd4\xc3\xb2\xa1\x02\x00\x04\x00", 8),
         "f:1: file: is not text: \"\\x02\" at byte 4\n"},
        {"utf-16", std::string("#\n#\0\n\0", 6), "f:2: file: is not text: \"\\x00\" at byte 3\n"},
        {"latin-1", "# caf\xe9\n", "f:1: syntax: column 5: Encountered invalid utf-8 sequence\n"},
        {"long line", "\n# " + std::string(kMaxLineBytes, 'x') + "\n",
         "f:2: file: a line is longer than 4096 bytes\n"},
        {"too large", std::string(kMaxSourceBytes + 1, '\n') + "#",
         "f: file: is larger than 256 KiB, which no configuration is\n"},
    };
    for (const FileCase& one : cases) {
        WorkingDirectory::write("f", one.text);
        const LoadResult result = load_file("f");
        ASSERT_FALSE(result.has_value()) << one.name;
        EXPECT_EQ(to_text(result.error(), "f"), one.expected) << one.name;
    }
}

TEST(LoadFile, missing_file_and_directory_are_one_problem) {
    const WorkingDirectory directory;
    LoadResult result = load_file("none.toml");
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(to_text(result.error(), "none.toml"),
              "none.toml: file: cannot be opened: No such file or directory\n");
    result = load_file("pcaps");
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(to_text(result.error(), "pcaps"), "pcaps: file: cannot be read: Is a directory\n");
}

// Drops root, who may read everything, for a moment.
class Unprivileged {
  public:
    Unprivileged() : dropped_(::geteuid() == 0 && ::seteuid(65534) == 0) {}
    ~Unprivileged() {
        if (dropped_ && ::seteuid(0) != 0) {
            std::abort();
        }
    }
    Unprivileged(const Unprivileged&) = delete;
    Unprivileged& operator=(const Unprivileged&) = delete;

  private:
    bool dropped_;
};

TEST(LoadFile, unreadable_file_is_one_problem) {
    const WorkingDirectory directory;
    WorkingDirectory::write("secret.toml", kEverything);
    ASSERT_EQ(::chmod("secret.toml", 0), 0);
    const Unprivileged nobody;
    const LoadResult result = load_file("secret.toml");
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(to_text(result.error(), "secret.toml"),
              "secret.toml: file: cannot be opened: Permission denied\n");
}

TEST(LoadFile, captures_without_permission_are_problems) {
    const WorkingDirectory directory;
    const std::string base = read_source_file("tests/unit/config/base.toml");
    WorkingDirectory::write("kept.pcap", "old");
    ASSERT_EQ(::chmod("pcaps/two-taps-a.pcap", 0), 0);
    ASSERT_EQ(::chmod("kept.pcap", 0444), 0);
    ASSERT_EQ(::chmod("pcaps", 0555), 0);
    const auto first_message = [&](const std::string& output) {
        const Unprivileged nobody;
        std::vector<std::string> told;
        for (const Problem& problem : load_invalid(replaced(base, "out.pcap", output))) {
            told.push_back(problem.key + ": " + problem.message);
        }
        return told;
    };
    const std::string input =
        "port[0].device: rx_pcap: \"pcaps/two-taps-a.pcap\" cannot be read: permission denied";
    EXPECT_EQ(first_message("out.pcap"), (std::vector<std::string>{input}));
    EXPECT_EQ(first_message("kept.pcap"),
              (std::vector<std::string>{input,
                                        "port[2].device: tx_pcap: \"kept.pcap\" cannot be "
                                        "written: permission denied"}));
    EXPECT_EQ(first_message("pcaps/new.pcap"),
              (std::vector<std::string>{input,
                                        "port[2].device: tx_pcap: directory \"pcaps\" cannot "
                                        "be written: permission denied"}));
    ASSERT_EQ(::chmod("pcaps", 0755), 0);
}

TEST(LoadFile, output_through_a_link_to_an_input_is_a_problem) {
    const WorkingDirectory directory;
    std::filesystem::create_symlink("pcaps/two-taps-b.pcap", "out.pcap");
    const std::vector<Problem> problems =
        load_invalid(read_source_file("tests/unit/config/base.toml"));
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_EQ(problems[0].message,
              "tx_pcap: \"out.pcap\" is read by port[1]; writing would destroy it");
}

TEST(LoadFile, outputs_to_nowhere_may_be_many) {
    const WorkingDirectory directory;
    std::string text = read_source_file("tests/unit/config/base.toml");
    text = replaced(text, "out.pcap", "/dev/null");
    text = replaced(text, "two-taps-b.pcap\"", "two-taps-b.pcap,tx_pcap=/dev/null\"");
    EXPECT_TRUE(load_text(text, "x").has_value());
}

TEST(Rule, of_a_geometry_is_bound_where_a_bound_is_given) {
    const std::string costs =
        "rule = \"penalty\"\nfalse_drop_cost = 5e3\nleak_cost = 2\nclass = [{ dscp = [46, 0], "
        "leak_cost = 3 }]\n";
    const Filter without = load_valid(replaced(kEverything, costs, "")).filters.at(1);
    EXPECT_EQ(without.rule, Rule::kMatch);
    EXPECT_EQ(without.max_false_drop, std::nullopt);
    const Filter with =
        load_valid(replaced(kEverything, costs, "max_false_drop = 1e-3\n")).filters.at(1);
    EXPECT_EQ(with.rule, Rule::kBound);
    EXPECT_EQ(with.max_false_drop, 1e-3);
}

TEST(OnFull, as_given_is_kept) {
    for (const char* const engine : {"auto", "line", "apbbf", "apbf", "shbf"}) {
        const std::string text =
            replaced(kEverything, "engine = \"exact\"",
                     "engine = \"" + std::string(engine) + "\"\non_full = \"doubt\"");
        EXPECT_EQ(load_valid(text).filters.at(0).on_full, OnFull::kDoubt) << engine;
    }
}

// Without a bound nothing defines when the filter is full, so it never is.
TEST(OnFull, of_a_geometry_needs_its_bound) {
    EXPECT_EQ(load_valid(kEverything).filters.at(1).on_full, std::nullopt);
    const std::string bounded = replaced(kEverything, "rule = \"penalty\"\n",
                                         "rule = \"penalty\"\nmax_false_drop = 1e-3\n");
    EXPECT_EQ(load_valid(bounded).filters.at(1).on_full, OnFull::kShrink);
}

TEST(Rule, penalty_has_costs_of_the_filter_and_of_classes) {
    const std::string text = replaced(
        replaced(kEverything, "engine = \"exact\"", "engine = \"apbf\"\nrule = \"penalty\""),
        "first = 10\n",
        "first = 10\nleak_cost = 3\n[[filter.class]]\ndscp = [46, 0]\nfalse_drop_cost = 1e6\n"
        "[[filter.class]]\ndscp = [63]\nleak_cost = 0.5\n");
    const Filter filter = load_valid(text).filters.at(0);
    EXPECT_EQ(filter.rule, Rule::kPenalty);
    EXPECT_EQ(filter.false_drop_cost, 1000);
    EXPECT_EQ(filter.leak_cost, 3);
    const std::vector<TrafficClass> classes{{{46, 0}, 1e6, std::nullopt},
                                            {{63}, std::nullopt, 0.5}};
    EXPECT_EQ(filter.classes, classes);
}

TEST(Problems, as_an_error_are_a_line_each_without_an_end_of_line_behind_them) {
    const std::vector<Problem> two{{3, "a", "bad"}, {0, "b", "worse"}};
    EXPECT_EQ(as_error(two, "x").context, "x:3: a: bad\nx: b: worse");
    EXPECT_EQ(as_error({two[1]}, "x").context, "x: b: worse");
    EXPECT_EQ(as_error(two, "x").code, Errc::kConfig);
    EXPECT_EQ(as_error({}, "x").context, "");
}

}  // namespace
}  // namespace unecho::config
