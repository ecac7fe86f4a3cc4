// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <bit>
#include <map>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "appliance/stats/stats.h"
#include "appliance/stats/stats_fold.h"
#include "unit/appliance/plans.h"

namespace unecho::appliance {
namespace {

using nlohmann::ordered_json;
using pipeline::Reason;

struct Case {
    Plan plan;
    StatsReport report;
};

// 10 packets are received: 6 are forwarded, 1 is diverted, 2 are dropped, 1 is in flight.
Case ten_packets() {
    config::Config config = taps_to_tool();
    config.ports.push_back(config.ports[2]);
    config.ports[3].name = "echoes";
    config.routes[0].on_echo = config::EchoAction::kDivert;
    config.routes[0].divert_to = 3;
    Case out{plan_of(config, machine_with({0}), all_of(config, device("net_null"))), {}};
    dataplane::Counters counters;
    counters.rx[0].add(4, 400);
    counters.rx[1].add(6, 600);
    counters.received[0] = 10;
    counters.tx[2].add(6, 600);
    counters.tx[3].add(1, 100);
    const auto count = [&](Reason reason, std::uint64_t packets) {
        counters.routes[0][static_cast<unsigned>(reason)].add(packets, 100 * packets);
    };
    count(Reason::kNew, 5);
    count(Reason::kNonIp, 1);
    count(Reason::kEchoDiverted, 1);
    count(Reason::kTxLost, 2);
    counters.polls = 9;
    counters.longest_gap = 77 * kMillisecond;
    counters.gaps = 123'456;
    counters.late_echoes = 654'321;
    out.report = empty_report(out.plan);
    add_outcomes(out.plan, counters, out.report);
    add_received(out.plan, counters, out.report);
    out.report.workers[0] = worker_report(out.plan, counters);
    out.report.filters[0].counters.insertions = 5;
    out.report.filters[0].counters.shifts = 2;
    out.report.filters[0].counters.inline_clears = 1;
    out.report.filters[0].counters.evicted_early = 7;
    out.report.filters[0].longest_generation = 3 * kMillisecond;
    out.report.ports[0].rx_missed = 11;
    out.report.ports[0].rx_no_mbuf = 4;
    out.report.ports[2].tx_errors = 3;
    out.report.ports[0].link_up = true;
    out.report.uptime = 123;
    finish(out.report);
    return out;
}

Case with_taps(bool ended) {
    Case c = ten_packets();
    c.plan.routes[0].taps = TapPlan{50 * kMillisecond, 1234, {}, 0};
    c.report.routes[0].taps = {ended, {3, {11, 22, 33}}, {444, 555, 666}};
    return c;
}

TEST(StatsJson, holds_totals_reasons_ports_routes_workers_and_filters) {
    const Case c = ten_packets();
    const ordered_json json = to_json(c.plan, c.report);
    EXPECT_EQ(json["uptime_ns"], 123);
    EXPECT_EQ(json["totals"]["received"], 10);
    EXPECT_EQ(json["totals"]["forwarded"], 6);
    EXPECT_EQ(json["totals"]["diverted"], 1);
    EXPECT_EQ(json["totals"]["dropped"], 2);
    EXPECT_EQ(json["totals"]["in_flight"], 1);
    EXPECT_EQ(json["ports"].size(), 4U);
    EXPECT_EQ(json["ports"][1]["name"], "tap-b");
    EXPECT_EQ(json["ports"][1]["rx_packets"], 6);
    EXPECT_EQ(json["ports"][0]["rx_missed"], 11);
    EXPECT_EQ(json["ports"][0]["rx_no_mbuf"], 4);
    EXPECT_EQ(json["ports"][0]["link_up"], true);
    EXPECT_EQ(json["ports"][2]["tx_bytes"], 600);
    EXPECT_EQ(json["ports"][2]["tx_errors"], 3);
    EXPECT_EQ(json["routes"].size(), 1U);
    EXPECT_EQ(json["routes"][0]["from"], (ordered_json{"tap-a", "tap-b"}));
    EXPECT_EQ(json["routes"][0]["to"], "tool");
    EXPECT_EQ(json["routes"][0]["filter"], "echo");
    EXPECT_EQ(json["routes"][0]["received"], 10);
    EXPECT_EQ(json["routes"][0]["reasons"]["tx_lost"], 2);
    EXPECT_EQ(json["workers"][0]["lcore"], 0);
    EXPECT_EQ(json["workers"][0]["rx_packets"], 10);
    EXPECT_EQ(json["workers"][0]["settled"], 9);
    EXPECT_EQ(json["workers"][0]["polls"], 9);
    EXPECT_EQ(json["workers"][0]["longest_gap_ns"], 77 * kMillisecond);
    EXPECT_EQ(json["workers"][0]["gaps"], 123'456);
    EXPECT_EQ(json["workers"][0]["late_echoes"], 654'321);
    EXPECT_EQ(json["filters"][0]["name"], "echo");
    EXPECT_EQ(json["filters"][0]["engine"], "line");
    EXPECT_EQ(json["filters"][0]["window_ns"], 50 * kMillisecond);
    EXPECT_EQ(json["filters"][0]["insertions"], 5);
    EXPECT_EQ(json["filters"][0]["shifts"], 2);
    EXPECT_EQ(json["filters"][0]["inline_clears"], 1);
    EXPECT_EQ(json["filters"][0]["evicted_early"], 7);
    EXPECT_EQ(json["filters"][0]["longest_generation_ns"], 3 * kMillisecond);
    EXPECT_EQ(json["filters"][0]["achieved_window_ns"], 50 * kMillisecond);
    EXPECT_EQ(json["filters"][0]["shortest_window_ns"], 50 * kMillisecond);
    EXPECT_EQ(json["filters"][0]["shortest_window_at_ns"], 0);
    EXPECT_EQ(json["filters"][0]["early_turns"], 0);
    EXPECT_EQ(json["filters"][0]["held_turns"], 0);
}

Case with_stalls() {
    Case c = ten_packets();
    c.plan.workers.push_back({7, {}});
    c.report.workers.resize(2);
    for (unsigned i = 1; i <= 12; ++i) {
        dataplane::Stall stall{i * kSecond, i * kMillisecond,         i, dataplane::Stall::kUnknown,
                               100 + i,     dataplane::Stage::kDecide};
        c.report.workers[i % 2].stall_log.push_back({i, 1'000'000 + i, 10 * i, stall});
    }
    c.report.workers[1].poll_times.add(100);
    c.report.workers[1].poll_times.add(~Nanoseconds{0});
    c.report.events = {{5, 77, event::kLink, "port down"}};
    c.report.start_unix = 42;
    return c;
}

TEST(StatsJson, holds_stalls_poll_times_and_events) {
    Case c = with_stalls();
    c.plan.name = "lab";
    const ordered_json json = to_json(c.plan, c.report);
    EXPECT_EQ(json["name"], "lab");
    EXPECT_EQ(json["start_unix_ns"], 42);
    ASSERT_EQ(json["stalls"].size(), 2U);
    ASSERT_EQ(json["stalls"][0].size(), 6U);
    EXPECT_EQ(json["stalls"][0][5], (ordered_json{{"number", 12},
                                                  {"unix_ns", 1'000'012},
                                                  {"at_ns", 12 * kSecond},
                                                  {"took_ns", 12 * kMillisecond},
                                                  {"stage", "decide"},
                                                  {"packets", 12},
                                                  {"queued_after", 112},
                                                  {"lost", 120}}))
        << "what nobody knows has no number";
    const ordered_json& times = json["workers"][1]["poll_times"];
    EXPECT_EQ(times.size(), dataplane::PollTimes::kBuckets);
    EXPECT_EQ(times["below_64_ns"], 0);
    EXPECT_EQ(times["below_128_ns"], 1);
    EXPECT_EQ(times["longer"], 1);
    EXPECT_EQ(
        json["events"],
        (ordered_json{{{"number", 5}, {"unix_ns", 77}, {"kind", "link"}, {"text", "port down"}}}));
}

TEST(StatsText, names_routes_that_have_a_name) {
    Case c = ten_packets();
    c.plan.routes[0].name = "tap-a+tap-b>tool";
    EXPECT_NE(to_text(c.plan, c.report).find("\nroute 0: tap-a, tap-b -> tool, "),
              std::string::npos);
    c.plan.routes[0].name = "access";
    EXPECT_NE(to_text(c.plan, c.report).find("\nroute 0 access: tap-a, tap-b -> tool, "),
              std::string::npos);
    EXPECT_EQ(to_json(c.plan, c.report)["routes"][0]["name"], "access");
}

TEST(StatsText, shows_a_window_that_was_shorter_and_when) {
    Case c = ten_packets();
    const auto ends = [&](const std::string& end) {
        const std::string text = to_text(c.plan, c.report);
        return text.find(end + "\n") != std::string::npos;
    };
    EXPECT_TRUE(ends(" -"));
    c.report.filters[0].window = {20 * kMillisecond, 1500 * kMicrosecond, 12 * kSecond, 34, 0};
    EXPECT_TRUE(ends(" 20 ms  1.5 ms after 12 s"));
    const ordered_json json = to_json(c.plan, c.report);
    EXPECT_EQ(json["filters"][0]["shortest_window_ns"], 1500 * kMicrosecond);
    EXPECT_EQ(json["filters"][0]["shortest_window_at_ns"], 12 * kSecond);
    EXPECT_EQ(json["filters"][0]["early_turns"], 34);
}

// Scripts get what gives way by its name in the configuration, or the engine's fixed behaviour.
TEST(StatsJson, says_what_gives_way) {
    Case c = ten_packets();
    const auto way = [&] { return to_json(c.plan, c.report)["filters"][0]["on_full"]; };
    EXPECT_EQ(way(), "none");
    c.plan.filters[0].on_full = config::OnFull::kShrink;
    EXPECT_EQ(way(), "shrink");
    c.plan.filters[0].on_full.reset();
    c.plan.filters[0].geometry = sizing::ExactGeometry{100};
    EXPECT_EQ(way(), "oldest");
}

// Give each 64-bit word of a block of counters a unique value, so that every counter must appear in
// both outputs.
constexpr std::uint64_t kMark = 7'000'000'000;

template <typename Block>
Block marked() {
    std::array<std::uint64_t, sizeof(Block) / sizeof(std::uint64_t)> words{};
    for (std::size_t i = 0; i < words.size(); ++i) {
        words[i] = kMark + i;
    }
    return std::bit_cast<Block>(words);
}

template <typename Block>
void expect_marks_in(const std::string& text) {
    for (std::size_t i = 0; i < sizeof(Block) / sizeof(std::uint64_t); ++i) {
        EXPECT_NE(text.find(std::to_string(kMark + i)), std::string::npos)
            << "word " << i << ": " << text;
    }
}

TEST(StatsJson, and_text_show_whatever_a_filter_counts) {
    Case c = ten_packets();
    c.report.filters[0] = empty_report(c.plan).filters[0];
    add_filter(marked<filter::FilterCounters>(), c.report.filters[0]);
    expect_marks_in<filter::FilterCounters>(to_json(c.plan, c.report)["filters"][0].dump());
    expect_marks_in<filter::FilterCounters>(to_text(c.plan, c.report));
}

TEST(StatsJson, shows_whatever_workers_ports_routes_taps_and_windows_count) {
    Case c = with_taps(true);
    const auto json = [&](const char* what) { return to_json(c.plan, c.report)[what][0].dump(); };
    dataplane::Counters counters;
    static_cast<dataplane::WorkerCounters&>(counters) = marked<dataplane::WorkerCounters>();
    c.report.workers[0] = worker_report(c.plan, counters);
    expect_marks_in<dataplane::WorkerCounters>(json("workers"));
    static_cast<eal::DeviceCounters&>(c.report.ports[0]) = marked<eal::DeviceCounters>();
    expect_marks_in<eal::DeviceCounters>(json("ports"));
    c.report.ports[0].rx = marked<pipeline::PacketBytes>();
    expect_marks_in<pipeline::PacketBytes>(json("ports"));
    c.report.routes[0].counts = marked<DispositionCounts>();
    expect_marks_in<DispositionCounts>(json("routes"));
    c.report.routes[0].taps.last.counts = marked<filter::TapCounts>();
    expect_marks_in<filter::TapCounts>(json("routes"));
    c.report.filters[0].window = marked<filter::WindowState>();
    expect_marks_in<filter::WindowState>(json("filters"));
    static_cast<FilterLoad&>(c.report.filters[0]) = marked<FilterLoad>();
    expect_marks_in<FilterLoad>(json("filters"));
    c.report.filters[0].audit.counters = marked<filter::AuditCounters>();
    expect_marks_in<filter::AuditCounters>(json("filters"));
}

// Reports that differ in one counter must differ from all others, in JSON and in the table.
class EachCounterAlone : public testing::Test {
  protected:
    static Case nothing() {
        Case c = with_taps(true);
        c.report.filters[0].window.shortest = kMillisecond;  // else it has no time to print
        static_cast<eal::DeviceCounters&>(c.report.ports[0]) = {};
        return c;
    }
    template <typename Block, std::size_t N, typename Place>
    void tell(const std::string& place, const CounterRows<Block, N>& rows, const Place& block_of) {
        for (const CounterRow<Block>& row : rows) {
            Case c = nothing();
            static_cast<Block&>(block_of(c.report)).*row.value = kMark;
            tell(place + "." + std::string(row.name), c);
        }
    }
    void tell(const std::string& counter, const Case& c) {
        const auto [json, new_json] = jsons_.emplace(to_json(c.plan, c.report).dump(), counter);
        EXPECT_TRUE(new_json) << "in JSON, " << counter << " looks like " << json->second;
        const auto [text, new_text] = texts_.emplace(to_text(c.plan, c.report), counter);
        EXPECT_TRUE(new_text) << "in the table, " << counter << " looks like " << text->second;
    }

  private:
    std::map<std::string, std::string> jsons_;
    std::map<std::string, std::string> texts_;
};

TEST_F(EachCounterAlone, is_told_from_every_other) {
    tell("nothing", nothing());
    tell(
        "port", eal::kDeviceCounters, [](StatsReport & r) -> auto& { return r.ports[0]; });
    tell(
        "port.rx", pipeline::kPacketBytes, [](StatsReport & r) -> auto& { return r.ports[0].rx; });
    tell(
        "port.tx", pipeline::kPacketBytes, [](StatsReport & r) -> auto& { return r.ports[0].tx; });
    tell(
        "route", kDispositionCounters, [](StatsReport & r) -> auto& { return r.routes[0].counts; });
    tell(
        "taps.last", filter::kTapCounters,
        [](StatsReport & r) -> auto& { return r.routes[0].taps.last.counts; });
    tell(
        "taps.total", filter::kTapCounters,
        [](StatsReport & r) -> auto& { return r.routes[0].taps.total; });
    tell(
        "worker", dataplane::kWorkerCounters,
        [](StatsReport & r) -> auto& { return r.workers[0]; });
    tell(
        "filter", filter::kFilterCounters,
        [](StatsReport & r) -> auto& { return r.filters[0].counters; });
    tell(
        "window", filter::kWindowCounters,
        [](StatsReport & r) -> auto& { return r.filters[0].window; });
    tell(
        "audit", filter::kAuditCounters,
        [](StatsReport & r) -> auto& { return r.filters[0].audit.counters; });
}

// Two workers saw one key at two ports.
TEST(StatsFold, adds_audits_up_and_names_the_ports) {
    Case c = ten_packets();
    pipeline::AuditTotals totals;
    totals.counters.fresh = 1000;
    totals.counters.echoes = 10;
    totals.counters.sampled = 1010;
    totals.ages.add(100 * kMicrosecond);
    totals.bits = 3;
    totals.entries = 7;
    pipeline::PortPairMatrix crossings{};
    crossings[0][1] = 5;
    for (const std::uint64_t bits : {3, 5}) {
        totals.bits = bits;
        add_audit(totals, c.report.filters[0]);
        add_crossings(crossings, c.report.crossings);
    }
    c.report.answers[1][0] = 3;
    const ordered_json audit = to_json(c.plan, c.report)["filters"][0]["audit"];
    EXPECT_EQ(audit["share"], 1.0 / 32);
    EXPECT_EQ(audit["entries"], 14);
    EXPECT_EQ(audit["counters"]["sampled"], 2020);
    EXPECT_EQ(audit["false_drops"]["of"], 2000);
    EXPECT_EQ(audit["false_drops"]["verdict"], "open");
    EXPECT_EQ(audit["misses"]["verdict"], "held");
    EXPECT_EQ(audit["ages"].size(), 1U);
    EXPECT_EQ(audit["ages"][0]["packets"], 2);
    EXPECT_LE(audit["ages"][0]["from_ns"], 100 * kMicrosecond);
    EXPECT_GT(audit["ages"][0]["to_ns"], 100 * kMicrosecond);
    EXPECT_EQ(audit["crossings"],
              (ordered_json{{{"first", "tap-a"}, {"repeated", "tap-b"}, {"packets", 10}}}));
    EXPECT_EQ(to_json(c.plan, c.report)["filters"][0]["answers"],
              (ordered_json{{{"first", "tap-b"}, {"repeated", "tap-a"}, {"packets", 3}}}));
}

TEST(StatsJson, says_that_nothing_is_audited) {
    Case c = ten_packets();
    c.plan.audits.clear();
    EXPECT_EQ(to_json(c.plan, c.report)["filters"][0]["audit"], (ordered_json{{"enabled", false}}));
    EXPECT_EQ(to_text(c.plan, c.report).find("audit"), std::string::npos);
}

// Help exists under the names that the report uses.
TEST(StatsHelp, is_there_for_every_counter_of_the_report) {
    const Case c = with_taps(true);
    const ordered_json json = to_json(c.plan, c.report);
    const ordered_json help = help_json();
    const auto expect_known = [&](const std::string& member, const ordered_json& counters) {
        EXPECT_FALSE(help[member].empty()) << member;
        for (const auto& [name, text] : help[member].items()) {
            EXPECT_TRUE(counters.contains(name)) << member << "." << name;
        }
    };
    expect_known("reasons", json["reasons"]);
    expect_known("ports", json["ports"][0]);
    expect_known("routes", json["routes"][0]);
    expect_known("taps", json["routes"][0]["taps"]["total"]);
    expect_known("workers", json["workers"][0]);
    expect_known("filters", json["filters"][0]);
    expect_known("audit", json["filters"][0]["audit"]["counters"]);
    EXPECT_EQ(help["reasons"].size(), json["reasons"].size());
    EXPECT_EQ(help["routes"].size(), json["totals"].size());
    EXPECT_EQ(help["ports"]["rx_no_mbuf"], eal::kDeviceCounters[1].help);
    EXPECT_TRUE(help["filters"].contains("achieved_window_ns"));
}

TEST(StatsKinds, are_there_for_every_counter_with_a_help) {
    const Case c = with_taps(true);
    const ordered_json json = to_json(c.plan, c.report);
    const ordered_json help = help_json();
    const ordered_json kinds = kinds_json();
    const auto expect_all = [&](const std::string& member, const ordered_json& counters) {
        for (const auto& item : counters.items()) {
            const bool described = help[member].contains(item.key()) && item.value().is_number();
            EXPECT_EQ(kinds[member].contains(item.key()), described) << member << "." << item.key();
        }
    };
    expect_all("reasons", json["reasons"]);
    expect_all("ports", json["ports"][0]);
    expect_all("routes", json["routes"][0]);
    expect_all("taps", json["routes"][0]["taps"]["total"]);
    expect_all("workers", json["workers"][0]);
    expect_all("filters", json["filters"][0]);
    EXPECT_EQ(kinds["reasons"]["echo_diverted"], "diverted");
    EXPECT_EQ(kinds["ports"]["rx_bytes"], "bytes counter");
    EXPECT_EQ(kinds["routes"]["received"], "packets counter");
    EXPECT_EQ(kinds["routes"]["in_flight"], "packets gauge") << "what is on its way gets less too";
    EXPECT_EQ(kinds["workers"]["longest_gap_ns"], "nanoseconds gauge");
    EXPECT_EQ(kinds["workers"]["polls"], "count counter");
    EXPECT_EQ(kinds["filters"]["achieved_window_ns"], "nanoseconds gauge");
    EXPECT_EQ(kinds["filters"]["fill"], "count gauge");
    EXPECT_EQ(kinds["filters"]["longest_generation_ns"], "nanoseconds gauge");
}

// A column of zeros is left out, and appears with its first count.
TEST(StatsText, has_a_column_for_each_counter_that_counted) {
    Case c = ten_packets();
    EXPECT_EQ(to_text(c.plan, c.report).find("tx retries"), std::string::npos);
    c.report.workers[0].tx_retries = 1;
    EXPECT_NE(to_text(c.plan, c.report).find("tx retries"), std::string::npos);
}

// A reader may rely on each reason's key, even if its count is 0.
TEST(StatsJson, names_every_reason_in_the_order_of_the_table) {
    const Case c = ten_packets();
    const ordered_json json = to_json(c.plan, c.report);
    unsigned i = 0;
    for (const auto& [name, value] : json["reasons"].items()) {
        ASSERT_LT(i, pipeline::kReasons);
        EXPECT_EQ(name, pipeline::kReasonTable[i].name);
        EXPECT_EQ(value, c.report.reasons[i].packets);
        ++i;
    }
    EXPECT_EQ(i, pipeline::kReasons);
}

TEST(StatsText, shows_the_sum_and_the_reasons_that_occurred) {
    const Case c = ten_packets();
    const std::string text = to_text(c.plan, c.report);
    EXPECT_NE(text.find("received 10 = forwarded 6 + diverted 1 + dropped 2 + in flight 1\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("route 0: tap-a, tap-b -> tool, filter echo\n"), std::string::npos);
    EXPECT_NE(text.find("tx_lost"), std::string::npos);
    EXPECT_NE(text.find("50.00 %"), std::string::npos) << "5 of 10 are new";
    EXPECT_EQ(text.find("malformed"), std::string::npos) << "none was";
    EXPECT_NE(text.find("3 ms"), std::string::npos) << "the longest generation";
    for (const char* gap : {"77 ms", "123456", "654321"}) {
        EXPECT_NE(text.find(gap), std::string::npos) << text;
    }
    EXPECT_EQ(text.find(" \n"), std::string::npos);
}

TEST(StatsText, says_which_captures_have_the_time_of_writing) {
    Case c = ten_packets();
    EXPECT_EQ(to_text(c.plan, c.report).find("time of writing"), std::string::npos);
    for (PortPlan& port : c.plan.ports) {
        port.device.name = "net_pcap0";
    }
    c.plan.ports[0].device.args = {{"rx_pcap", "in.pcap"}, {"tx_pcap", "unused.pcap"}};
    EXPECT_EQ(to_text(c.plan, c.report).find("time of writing"), std::string::npos)
        << "nothing is sent to it";
    c.plan.ports[2].device.args = {{"tx_pcap", "kept.pcap"}};
    c.plan.ports[3].device.args = {{"tx_pcap", "a\nb.pcap"}};
    EXPECT_NE(to_text(c.plan, c.report)
                  .find("packets in kept.pcap, a\\x0ab.pcap have the time of writing, not their "
                        "own; unecho pcap keeps their own\n"),
              std::string::npos)
        << to_text(c.plan, c.report);
}

TEST(StatsJson, holds_the_flows_of_taps_where_they_are_reported) {
    EXPECT_FALSE(to_json(ten_packets().plan, ten_packets().report)["routes"][0].contains("taps"));
    const Case c = with_taps(true);
    EXPECT_EQ(
        to_json(c.plan, c.report)["routes"][0]["taps"],
        (ordered_json{
            {"a", "tap-a"},
            {"b", "tap-b"},
            {"window_ns", 50'000'000},
            {"planned_flows", 1234},
            {"last", {{"begin_ns", 150'000'000}, {"only_a", 11}, {"only_b", 22}, {"both", 33}}},
            {"total", {{"only_a", 444}, {"only_b", 555}, {"both", 666}}}}));
    const Case first = with_taps(false);
    const ordered_json taps = to_json(first.plan, first.report)["routes"][0]["taps"];
    EXPECT_FALSE(taps.contains("last"));
    EXPECT_EQ(taps["total"]["both"], 666);
}

TEST(StatsJson, names_each_path_once) {
    Case c = ten_packets();
    engines::PathPlan paths;
    paths.points = {"core", "edge"};
    paths.spec.points = 2;
    paths.spec.point_of.fill(pipeline::PathSpec::kNoPoint);
    c.plan.paths = {paths};
    const auto names = [&] {
        std::vector<std::string> out;
        const ordered_json json = to_json(c.plan, empty_report(c.plan));
        for (const ordered_json& path : json["paths"]) {
            out.push_back(path["name"]);
        }
        return out;
    };
    EXPECT_EQ(names(), (std::vector<std::string>{"core>edge", "edge>core"}));
    c.plan.filters.push_back(c.plan.filters[0]);
    c.plan.audits.push_back(c.plan.audits[0]);
    c.plan.filters[1].name = "other";
    paths.points = {"edge", "exit"};
    c.plan.paths.emplace_back(paths);
    EXPECT_EQ(names()[2], "edge>exit");
    c.plan.paths[1]->points = {"edge", "core"};
    EXPECT_EQ(names(), (std::vector<std::string>{"echo: core>edge", "echo: edge>core",
                                                 "other: edge>core", "other: core>edge"}));
}

TEST(StatsText, of_nothing_received_has_no_share) {
    const Case c = ten_packets();
    StatsReport report = empty_report(c.plan);
    finish(report);
    const std::string text = to_text(c.plan, report);
    EXPECT_EQ(text.find('%'), std::string::npos);
    EXPECT_NE(text.find("received 0 = forwarded 0 + diverted 0 + dropped 0 + in flight 0\n"),
              std::string::npos);
    EXPECT_EQ(text.find("nan"), std::string::npos);
}

}  // namespace
}  // namespace unecho::appliance
