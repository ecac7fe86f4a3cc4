// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/health/health.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "base/humanize.h"
#include "monitor/client/appliance_status.h"
#include "monitor/health/catalogue.h"
#include "seen.h"
#include "support/source_root.h"

namespace unecho::monitor {
namespace {

constexpr Nanoseconds kNow = 1'700'000'000 * kSecond;
constexpr Nanoseconds kUptime = 7200 * kSecond;

// Return what query_past() returns if the counters were these `ago`.
Json past_of(const Json& seen, Nanoseconds ago) {
    Json out = {{"totals", {{"uptime_ns", kUptime - ago}, {"newest_uptime_ns", kUptime}}}};
    for (const char* list : {"ports", "routes", "workers", "filters", "paths"}) {
        out[list] = Json::array();
        for (const Json& item : member(seen, list)) {
            Json one = item;
            one["name"] = item.contains("lcore") ? item["lcore"].dump() : string_or(item, "name");
            one.update(member(item, "reasons").is_object() ? item["reasons"] : Json::object());
            one["rx_packets_quiet_ns"] = 0;
            out[list].push_back(std::move(one));
        }
    }
    return out;
}

// An appliance to which nothing has happened for an hour. It still receives.
struct Case {
    Json now = healthy();
    Json before = past_of(healthy(), 50 * kSecond);
    Json hour = past_of(healthy(), 3600 * kSecond);

    Case() {
        now["info"]["uptime_ns"] = kUptime;
        now["routes"][0]["from"] = {"tap-a", now["ports"][1]["name"]};
    }
    [[nodiscard]] Health judged() const { return check_health({now, before, hour, kNow}); }
    [[nodiscard]] std::vector<std::string> rules() const {
        std::vector<std::string> out;
        for (const Finding& finding : judged().findings) {
            out.emplace_back(finding.rule);
        }
        return out;
    }
    // Count so many packets on the route, and as many echoes among them, since `before`.
    void pass(std::uint64_t packets, std::uint64_t echoes) {
        Json& route = now["routes"][0];
        route["received"] = route["received"].get<std::uint64_t>() + packets;
        route["reasons"]["echo"] = route["reasons"]["echo"].get<std::uint64_t>() + echoes;
    }
    // Likewise in the hour before, evenly.
    void passed(std::uint64_t packets, std::uint64_t echoes) {
        pass(packets, echoes);
        Json& past = before["routes"][0];
        past["received"] = now["routes"][0]["received"];
        past["echo"] = now["routes"][0]["reasons"]["echo"];
        past["usual_echo_ppm"] = echoes * 1'000'000 / packets;
    }
};

using Rules = std::vector<std::string>;

// Expect one finding with these words, and none without the change.
template <typename Change>
void expect_one(const std::string& rule, const std::string& where, const std::string& text,
                Change&& change) {
    Case it;
    EXPECT_EQ(it.rules(), Rules{});
    change(it);
    const Health health = it.judged();
    ASSERT_EQ(it.rules(), Rules{rule}) << text;
    const Finding& finding = health.findings[0];
    EXPECT_EQ(finding.where, where);
    EXPECT_EQ(finding.text, text);
    EXPECT_EQ(finding.severity, kRules.at(place_of(rule)).severity);
    EXPECT_EQ(health.severity, finding.severity);
    EXPECT_EQ(health.headline, kRules.at(place_of(rule)).headline);
    EXPECT_TRUE(finding.remedy.ends_with(".")) << finding.remedy;
}

TEST(Health, nothing_is_found_where_all_is_well) {
    const Health health = Case().judged();
    EXPECT_EQ(health.severity, Severity::kFine);
    EXPECT_EQ(health.headline, "All is well.");
    EXPECT_EQ(health.text.find("No packet was lost in the last 50 s. The audit checked "), 0U)
        << health.text;
}

TEST(Health, an_open_verdict_is_nothing_wrong) {
    Case it;
    Json& drops = it.now["filters"][0]["audit"]["false_drops"];
    drops["verdict"] = "open";
    drops["confirmed_in_ns"] = 31'800 * kSecond;
    EXPECT_NE(it.judged().text.find("confirmed in about 8 h 50 min at this rate; nothing is wrong "
                                    "until then"),
              std::string::npos)
        << it.judged().text;
}

TEST(Health, a_broken_promise_is_broken) {
    expect_one("packets-unaccounted", "",
               "unecho received 1,001 packets and accounts for 1,000 packets",
               [](Case& it) { it.now["counters"]["received"] = 1001; });
    expect_one("worker-silent", "lcore 3", "The worker on lcore 3 does not answer within a second",
               [](Case& it) {
                   it.now["workers"][0]["answering"] = false;
                   it.now["filters"][0]["achieved_window_ns"] = 0;  // says nothing then
               });
    expect_one("false-drops-above-bound", "filter echo",
               "Filter echo drops more new packets than it may: at least 2e-06 of them, and the "
               "bound is 1e-06",
               [](Case& it) {
                   Json& drops = it.now["filters"][0]["audit"]["false_drops"];
                   drops["verdict"] = "broken";
                   drops["low"] = 2e-6;
               });
    for (const auto& [on_full, next] :
         {std::pair{"shrink", "This is a bug"}, std::pair{"grow", "The filter grows"}}) {
        Case it;
        it.now["filters"][0]["on_full"] = on_full;
        it.now["filters"][0]["audit"]["false_drops"]["verdict"] = "broken";
        const Health health = it.judged();
        ASSERT_EQ(health.findings.size(), 1U);
        EXPECT_EQ(health.findings[0].remedy.find(next), 0U) << health.findings[0].remedy;
    }
    expect_one("miss", "filter echo",
               "2 sampled copies inside the window of filter echo passed, and nothing explains it",
               [](Case& it) { it.now["filters"][0]["audit"]["misses"]["count"] = 2; });
}

TEST(Health, a_link_that_is_down_is_told_with_its_time) {
    expect_one("link-down", "port tap-a", "The link of port tap-a is down", [](Case& it) {
        it.now["ports"][0]["link_up"] = false;
        it.now["events"] = {{{"number", 1},
                             {"unix_ns", kNow - 70 * kSecond},
                             {"kind", "link"},
                             {"text", "port \"tap-a\": link down"}}};
        const Finding finding = it.judged().findings.at(0);
        EXPECT_EQ(finding.since, kNow - 70 * kSecond);
        setenv("TZ", "UTC", 1);
        tzset();
        EXPECT_EQ(sentences(finding, kNow), "The link of port tap-a is down, since 22:12:10 (" +
                                                brief_duration(70 * kSecond) + " ago). " +
                                                finding.remedy);
        EXPECT_EQ(sentences(finding, finding.since + kSecond / 2),
                  "The link of port tap-a is down, since 22:12:10 (just now). " + finding.remedy);
    });
}

// Counters are sampled every ten seconds, so that this is found within a minute.
TEST(Health, an_input_is_silent_while_others_are_not) {
    const auto quiet = [](Case& it, Nanoseconds time) {
        it.before["ports"][0]["rx_packets_quiet_ns"] = time;
        it.now["ports"][1]["rx_packets"] = 100'000;
    };
    expect_one(
        "input-silent", "port tap-a",
        "Nothing has come from port tap-a for 40 s, while packets come from the other inputs",
        [&](Case& it) { quiet(it, 40 * kSecond); });
    Case shorter;
    quiet(shorter, 30 * kSecond);
    EXPECT_EQ(shorter.rules(), Rules{});
    Case one_packet_an_hour;  // as always
    quiet(one_packet_an_hour, 300 * kSecond);
    one_packet_an_hour.now["ports"][0]["rx_packets"] = 1;
    one_packet_an_hour.before["ports"][0]["rx_packets"] = 1;
    EXPECT_EQ(one_packet_an_hour.rules(), Rules{});
    Case new_input;  // a port that a reload added to a route
    quiet(new_input, 300 * kSecond);
    new_input.now["routes"][0]["since_unix_ns"] = kNow - 10 * kSecond;
    EXPECT_EQ(new_input.rules(), Rules{});
    new_input.now["routes"][0]["since_unix_ns"] = kNow - 100 * kSecond;
    EXPECT_EQ(new_input.rules(), Rules{"input-silent"});
    Case never;
    quiet(never, 300 * kSecond);
    never.before["ports"][0].erase("rx_packets_quiet_ns");
    never.now["ports"][0]["rx_packets"] = 0;
    EXPECT_EQ(never.rules(), Rules{"input-silent"});
    Case down;  // the link is the cause
    quiet(down, 300 * kSecond);
    down.now["ports"][0]["link_up"] = false;
    EXPECT_EQ(down.rules(), Rules{"link-down"});
}

TEST(Health, no_traffic_at_all) {
    expect_one("no-traffic", "", "No packet has come from any input for 1 min 10 s", [](Case& it) {
        it.before["ports"][0]["rx_packets_quiet_ns"] = 70 * kSecond;
        it.before["ports"][1]["rx_packets_quiet_ns"] = 80 * kSecond;
    });
    // Sooner where that is no chance: 20 packets were due.
    const auto silent = [](std::uint64_t in_the_hour) {
        Case it;
        for (const char* port : {"0", "1"}) {
            Json& now = it.now["ports"][static_cast<std::size_t>(*port - '0')];
            it.before["ports"][static_cast<std::size_t>(*port - '0')]["rx_packets_quiet_ns"] =
                40 * kSecond;
            now["rx_packets"] = now["rx_packets"].get<std::uint64_t>() + in_the_hour / 2;
        }
        return it.rules();
    };
    EXPECT_EQ(silent(1790), Rules{});
    EXPECT_EQ(silent(1810), Rules{"no-traffic"});
}

TEST(Health, stalls_that_cost_something) {
    const auto stalled = [](Case& it, unsigned count, unsigned lost, Nanoseconds ago) {
        it.now["workers"][0]["stalls"] = count;
        it.now["workers"][0]["stall_log"] = {{{"unix_ns", kNow - ago},
                                              {"took_ns", 12 * kMillisecond},
                                              {"stage", "receive"},
                                              {"lost", lost}}};
    };
    expect_one("worker-stalled", "lcore 3",
               "The worker on lcore 3 was held up 2 times in the last 50 s, for 12 ms at the "
               "longest that is still logged, in receive; its ports lost 7 packets meanwhile",
               [&](Case& it) { stalled(it, 2, 7, kSecond); });
    Case harmless;
    stalled(harmless, 2, 0, kSecond);
    EXPECT_EQ(harmless.rules(), Rules{});
    Case many;
    stalled(many, 50, 0, kSecond);
    EXPECT_EQ(many.rules(), Rules{"worker-stalled"});
    Case past;  // a warning ends
    stalled(past, 2, 7, 400 * kSecond);
    past.before["workers"][0]["stalls"] = 2;
    EXPECT_EQ(past.rules(), Rules{});
}

TEST(Health, generations_that_turn_late) {
    const auto turned = [](double share) {
        return [=](Case& it) {
            it.now["workers"][0]["idle_ns"] = 1;
            it.now["filters"][0]["phases"] = 2;
            it.now["filters"][0]["generation_ns"] = kSecond / 1200;  // of line a tick
            it.now["filters"][0]["shifts"] = static_cast<std::uint64_t>(600 * 50 * share);
            it.now["filters"][0]["longest_generation_ns"] = 0;
        };
    };
    Case in_time;
    turned(0.96)(in_time);
    EXPECT_EQ(in_time.rules(), Rules{});
    Case late;
    turned(0.435)(late);
    ASSERT_EQ(late.rules(), Rules{"generations-late"});
    EXPECT_EQ(late.judged().findings[0].text,
              "Generations of filter echo turned 261 times a second instead of 600 in the last "
              "50 s, so copies older than window and slack may be dropped");
    Case just_started = late;
    just_started.before["totals"]["uptime_ns"] = kUptime - 2 * kSecond;
    just_started.now["filters"][0]["shifts"] = 2 * 261;
    EXPECT_EQ(just_started.rules(), Rules{});
    late.now["workers"][0]["idle_ns"] = 0;  // a replay with the time of captures
    EXPECT_EQ(late.rules(), Rules{});
}

TEST(Health, a_worker_at_its_limit) {
    expect_one("overload", "lcore 3",
               "The worker on lcore 3 was busy for 96.0 % of its time in the last 50 s",
               [](Case& it) {
                   it.now["filters"][0]["generation_ns"] = 0;
                   it.now["workers"][0]["busy_ns"] = 96;
                   it.now["workers"][0]["idle_ns"] = 4;
               });
}

TEST(Health, losses_name_their_cause_and_end) {
    expect_one("rx-missed", "port tap-a",
               "Port tap-a lost 14,514 packets in the last 50 s, because its receive queue was "
               "full",
               [](Case& it) { it.now["ports"][0]["rx_missed"] = 14'514; });
    expect_one("tx-lost", "route tap-a+tap-b>tool",
               "Port tool did not take 2 packets of route tap-a+tap-b>tool in the last 50 s",
               [](Case& it) { it.now["routes"][0]["reasons"]["tx_lost"] = 2; });
    Case both;
    both.now["ports"][0]["rx_missed"] = 5;
    both.now["workers"][0]["stalls"] = 1;
    both.now["workers"][0]["gaps"] = 1;
    ASSERT_EQ(both.rules(), (Rules{"worker-stalled", "rx-missed"})) << "the cause first";
    EXPECT_EQ(both.judged().findings[1].remedy,
              "A worker was held up meanwhile: remedy that first.");
    EXPECT_EQ(both.judged().lost, 5U);
    Case past;
    past.now["ports"][0]["rx_missed"] = 13'974;
    past.before["ports"][0]["rx_missed"] = 13'974;
    EXPECT_EQ(past.rules(), Rules{});
    Case made_anew;  // by a reload, so it counts from 0
    made_anew.before["routes"][0]["tx_lost"] = 9;
    made_anew.now["routes"][0]["reasons"]["tx_lost"] = 2;
    EXPECT_EQ(made_anew.rules(), Rules{"tx-lost"});
}

TEST(Health, a_window_that_is_too_short_names_its_cause) {
    const auto short_window = [](Case& it, unsigned early) {
        it.now["filters"][0]["achieved_window_ns"] = 20 * kMillisecond;
        it.now["filters"][0]["early_turns"] = 2 + early;
    };
    expect_one(
        "window-short", "filter echo",
        "Filter echo keeps 20 ms of its 50 ms window, because more packets come than planned",
        [&](Case& it) { short_window(it, 1); });
    expect_one(
        "window-short", "filter echo",
        "Filter echo keeps 20 ms of its 50 ms window, though no more packets came than planned",
        [&](Case& it) { short_window(it, 0); });
}

TEST(Health, doubts_count_from_a_hundredth_of_the_echoes_on) {
    Case it;
    it.pass(10'000, 4000);
    it.now["routes"][0]["reasons"]["doubt"] = 40;
    EXPECT_EQ(it.rules(), Rules{});
    it.now["routes"][0]["reasons"]["doubt"] = 41;
    EXPECT_EQ(it.rules(), Rules{"doubts"});
}

TEST(Health, misses_with_a_reason_have_the_remedy_of_their_reason) {
    Case it;
    it.now["filters"][0]["audit"]["misses"]["explained"] = {{"stall", 3}, {"load", 0}};
    ASSERT_EQ(it.rules(), Rules{"miss-explained"});
    EXPECT_NE(it.judged().findings[0].remedy.find("A larger filter does not help"),
              std::string::npos);
    it.before["filters"][0]["misses_explained"] = 3;
    EXPECT_EQ(it.rules(), Rules{});
}

TEST(Health, a_share_of_copies_that_no_tap_makes) {
    expect_one("drop-share-implausible", "route tap-a+tap-b>tool",
               "99.900 % of the packets of route tap-a+tap-b>tool were copies in the last 50 s, "
               "more than taps and mirrors make",
               [](Case& it) { it.pass(100'000, 99'900); });
    Case plausible;
    plausible.pass(100'000, 90'000);
    EXPECT_EQ(plausible.rules(), Rules{});
    Case flows;  // most packets of a flow repeat its key
    flows.pass(100'000, 99'900);
    flows.now["filters"][0]["key"] = "flow-bidir";
    EXPECT_EQ(flows.rules(), Rules{});
}

TEST(Health, copies_that_stop_or_change) {
    Case stopped;
    stopped.passed(100'000, 40'000);
    stopped.pass(10'000, 10);
    ASSERT_EQ(stopped.rules(), Rules{"echoes-stopped"});
    EXPECT_EQ(stopped.judged().findings[0].text,
              "Hardly a packet of route tap-a+tap-b>tool was a copy in the last 50 s; 40.0 % were "
              "usual in the hour before");
    Case changed;
    changed.passed(100'000, 40'000);
    changed.pass(10'000, 1900);
    EXPECT_EQ(changed.rules(), Rules{"echo-share-changed"});
    Case as_ever;
    as_ever.passed(100'000, 40'000);
    as_ever.pass(10'000, 2100);
    EXPECT_EQ(as_ever.rules(), Rules{});
    Case few;  // may be chance
    few.passed(100'000, 150);
    few.pass(10'000, 0);
    EXPECT_EQ(few.rules(), Rules{});
}

TEST(Health, a_clock_that_was_set) {
    const auto stepped = [](Case& it, Nanoseconds ago) {
        it.now["events"] = {{{"number", 1},
                             {"unix_ns", kNow - ago},
                             {"kind", "time"},
                             {"text", "the system's clock was set forward by 2 s"}}};
    };
    expect_one("clock-stepped", "",
               "A clock stepped in the last 50 s: the system's clock was set forward by 2 s",
               [&](Case& it) { stepped(it, kSecond); });
    Case past;
    stepped(past, 51 * kSecond);
    EXPECT_EQ(past.rules(), Rules{});
}

TEST(Health, of_a_store_that_sites_share) {
    const auto with_root = [](unsigned answering, unsigned no_room) {
        return [=](Case& it) {
            it.now["filters"][0]["root"] = {
                {"masters", 3}, {"answering", answering}, {"no_room", no_room}};
        };
    };
    Case fine;
    with_root(3, 0)(fine);
    EXPECT_EQ(fine.rules(), Rules{});
    expect_one("root-unreachable", "filter echo",
               "2 of 3 masters of the Redis Cluster answer, in which sites share flows of filter "
               "echo",
               with_root(2, 0));
    expect_one("root-full", "filter echo",
               "The shared store of filter echo had no room for 7 flows", with_root(3, 7));
    expect_one(
        "root-unassigned", "filter echo",
        "No master of the Redis Cluster has the slots of 24 of the 48 parts of the flows of "
        "filter echo",
        [](Case& it) {
            it.now["filters"][0]["root"] = {{"masters", 1}, {"answering", 1}, {"unassigned", 24}};
        });
}

TEST(Health, of_an_appliance_that_cannot_be_asked) {
    struct {
        ApplianceState state;
        const char* rule;
        const char* headline;
        const char* text;
    } const rows[] = {
        {ApplianceState::kSilent, "down", "The appliance does not answer.",
         "The appliance has a reason"},
        {ApplianceState::kGone, "down", "The appliance is gone.",
         "The appliance is gone: no process answers by its name"},
        {ApplianceState::kAbsent, "absent", "The appliance has not come up.",
         "The appliance has a reason"},
    };
    for (const auto& row : rows) {
        const Health health = health_of_unreachable(row.state, "has a reason", kNow);
        EXPECT_EQ(health.severity, Severity::kBroken);
        EXPECT_EQ(health.headline, row.headline);
        ASSERT_EQ(health.findings.size(), 1U);
        EXPECT_EQ(health.findings[0].rule, row.rule);
        EXPECT_EQ(health.findings[0].text, row.text);
        EXPECT_EQ(health.findings[0].since, kNow);
    }
}

TEST(Health, of_a_history_that_the_server_cannot_keep) {
    Health health = Case().judged();
    add_unkept_history(health, "/a/b: No space left on device", kNow);
    EXPECT_EQ(health.severity, Severity::kWarning);
    EXPECT_EQ(health.headline, "The history is not kept.");
    EXPECT_EQ(health.findings.at(0).rule, "history-not-kept");
    EXPECT_EQ(health.findings.at(0).since, kNow);
    Case worse;
    worse.now["ports"][0]["link_up"] = false;
    worse.now["ports"][1]["rx_missed"] = 1;
    worse.now["acknowledged"] = {
        {{"rule", "rx-missed"}, {"where", "port tap \"b\"\\"}, {"unix_ns", kNow}}};
    health = worse.judged();
    add_unkept_history(health, "a reason", kNow);
    EXPECT_EQ(health.headline, "A link is down.");
    ASSERT_EQ(health.findings.size(), 3U);
    EXPECT_EQ(health.findings[1].rule, "history-not-kept") << "before what is acknowledged";
}

TEST(Health, the_worst_comes_first_and_then_the_cause) {
    Case it;
    it.now["ports"][1]["rx_missed"] = 1;
    it.now["ports"][0]["link_up"] = false;
    it.now["counters"]["received"] = 1;
    EXPECT_EQ(it.rules(), (Rules{"packets-unaccounted", "link-down", "rx-missed"}));
}

// What comes and goes is one incident, until it was gone for five minutes.
// Paths on which so many packets came, were missing, were timed and were late since `before`.
struct PathCase : Case {
    PathCase(std::uint64_t arrived, std::uint64_t missing, std::uint64_t timed,
             std::uint64_t late) {
        now["paths"] = two_paths();
        before["paths"] = past_of(now, 50 * kSecond)["paths"];
        Json& path = now["paths"][0];
        path["arrived"] = path["arrived"].get<std::uint64_t>() + arrived;
        path["missing"] = path["missing"].get<std::uint64_t>() + missing;
        path["timed"] = path["timed"].get<std::uint64_t>() + timed;
        path["late"] = path["late"].get<std::uint64_t>() + late;
    }
};

TEST(Health, a_path_loses_more_than_its_bound) {
    EXPECT_EQ(PathCase(9900, 100, 0, 0).rules(), Rules{}) << "just the bound";
    EXPECT_EQ(PathCase(9880, 120, 0, 0).rules(), Rules{}) << "may be chance";
    PathCase it(9850, 150, 0, 0);
    it.before["paths"][0]["missing_quiet_ns"] = 0;
    it.before["paths"][0]["missing_from_ns"] = kNow - 70 * kSecond;
    const Health health = it.judged();
    ASSERT_EQ(it.rules(), Rules{"path-loss"});
    const Finding& finding = health.findings[0];
    EXPECT_EQ(finding.where, "path tap-a>tap-b");
    EXPECT_EQ(finding.text,
              "150 of 10,000 sampled packets from tap-a to tap-b are missing in the last 50 s: "
              "with 95 % confidence at least 1.28 % of them, and max_path_loss is 1.00 %");
    EXPECT_EQ(finding.severity, Severity::kWarning);
    EXPECT_EQ(finding.since, kNow - 70 * kSecond);
}

TEST(Health, one_missing_packet_of_few_is_no_loss_of_a_path) {
    EXPECT_EQ(PathCase(9, 1, 0, 0).rules(), Rules{});
    EXPECT_EQ(PathCase(0, 1, 0, 0).rules(), Rules{"path-loss"}) << "none came";
    EXPECT_EQ(PathCase(0, 0, 0, 0).rules(), Rules{});
    PathCase strict(999'999, 1, 0, 0);
    EXPECT_EQ(strict.rules(), Rules{});
    strict.now["paths"][0]["max_path_loss"] = 0.0;
    EXPECT_EQ(strict.rules(), Rules{"path-loss"}) << "none may be lost";
}

TEST(Health, a_path_without_a_bound_is_not_judged) {
    PathCase it(0, 1000, 1000, 1000);
    it.now["paths"][0]["max_path_loss"] = it.now["paths"][0]["max_path_delay_ns"] = Json();
    EXPECT_EQ(it.rules(), Rules{});
}

TEST(Health, a_path_is_not_judged_over_a_short_time_or_without_a_past) {
    PathCase it(0, 1000, 1000, 1000);
    EXPECT_EQ(it.rules(), (Rules{"path-loss", "path-delay"}));
    it.before["totals"]["uptime_ns"] = kUptime - 29 * kSecond;
    EXPECT_EQ(it.rules(), Rules{});
    it.before = Json();
    EXPECT_EQ(it.rules(), Rules{});
}

TEST(Health, what_a_port_lost_itself_no_path_lost) {
    PathCase ever(9800, 200, 0, 0);
    EXPECT_EQ(ever.rules(), Rules{"path-loss"});
    ever.now["paths"][0]["loss"]["lost_here"] = 0.0074;
    EXPECT_EQ(ever.rules(), Rules{});
    PathCase now(9800, 200, 0, 0);
    now.now["paths"][0]["to"] = "tap-a";
    now.now["ports"][0]["rx_packets"] = 500 + 98'000;
    now.now["ports"][0]["rx_missed"] = 2000;
    EXPECT_EQ(now.rules(), Rules{"rx-missed"});
}

TEST(Health, a_path_takes_longer_than_its_bound) {
    EXPECT_EQ(PathCase(0, 0, 10'000, 100).rules(), Rules{}) << "1 % may";
    PathCase it(0, 0, 10'000, 150);
    const Health health = it.judged();
    ASSERT_EQ(it.rules(), Rules{"path-delay"});
    EXPECT_EQ(health.findings[0].where, "path tap-a>tap-b");
    EXPECT_EQ(health.findings[0].text,
              "150 of 10,000 sampled packets from tap-a to tap-b took longer than 1 ms in the last "
              "50 s");
    it.now["paths"][0]["late"] = 120;
    EXPECT_EQ(it.rules(), Rules{}) << "may be chance";
}

TEST(Health, an_incident_that_pauses_is_still_acknowledged) {
    Case it;
    it.now["ports"][0]["rx_missed"] = 5;
    it.before["ports"][0]["rx_missed_from_ns"] = kNow - 400 * kSecond;
    it.before["ports"][0]["rx_missed_quiet_ns"] = 290 * kSecond;  // it grew since the newest sample
    it.now["acknowledged"] = {
        {{"rule", "rx-missed"}, {"where", "port tap-a"}, {"unix_ns", kNow - 350 * kSecond}}};
    EXPECT_EQ(it.judged().severity, Severity::kFine);
    it.before["ports"][0]["rx_missed_quiet_ns"] = 310 * kSecond;
    EXPECT_EQ(it.judged().severity, Severity::kWarning);
}

TEST(Health, an_incident_is_acknowledged_until_it_comes_again) {
    Case it;
    it.now["ports"][0]["rx_missed"] = 5;
    it.before["ports"][0]["rx_missed_from_ns"] = kNow - 100 * kSecond;
    it.before["ports"][0]["rx_missed_quiet_ns"] = 0;
    it.now["acknowledged"] = {
        {{"rule", "rx-missed"}, {"where", "port tap-a"}, {"unix_ns", kNow - 50 * kSecond}}};
    Health health = it.judged();
    EXPECT_EQ(health.severity, Severity::kFine);
    EXPECT_EQ(health.headline, "Nothing new.");
    ASSERT_EQ(health.findings.size(), 1U) << "it is still shown";
    EXPECT_TRUE(health.findings[0].acknowledged);
    it.now["ports"][1]["link_up"] = false;
    health = it.judged();
    EXPECT_EQ(health.severity, Severity::kWarning);
    EXPECT_EQ(health.headline, "A link is down.");
    it.now["ports"][1]["link_up"] = true;
    it.before["ports"][0]["rx_missed_from_ns"] = kNow - 20 * kSecond;  // a new incident
    EXPECT_EQ(it.judged().severity, Severity::kWarning);
}

TEST(Health, an_incident_without_a_known_beginning_is_acknowledged_for_an_hour) {
    Case it;
    it.now["filters"][0]["generation_ns"] = 0;
    it.now["workers"][0]["busy_ns"] = 96;
    it.now["workers"][0]["idle_ns"] = 4;
    const auto acknowledged = [&](Nanoseconds ago) {
        it.now["acknowledged"] = {
            {{"rule", "overload"}, {"where", "lcore 3"}, {"unix_ns", kNow - ago}}};
        const Health health = it.judged();
        EXPECT_EQ(health.findings.at(0).since, 0U);
        return health.findings.at(0).acknowledged;
    };
    EXPECT_TRUE(acknowledged(kSecond));
    EXPECT_TRUE(acknowledged(3600 * kSecond));
    EXPECT_FALSE(acknowledged(3601 * kSecond));
}

// Without a history only what is true now is judged.
TEST(Health, of_an_appliance_without_a_history) {
    Case it;
    it.before = it.hour = Json();
    it.now["ports"][1]["rx_missed"] = 1;
    EXPECT_EQ(it.rules(), Rules{});
    it.now["ports"][0]["link_up"] = false;
    EXPECT_EQ(it.rules(), Rules{"link-down"});
}

TEST(Health, what_is_no_answer_of_ours_harms_nothing) {
    for (const char* odd :
         {"null", "[]", R"({"ports": 3, "workers": [1, null], "routes": {"a": 1}})",
          R"({"filters": [{"name": 7, "audit": []}], "events": [3]})", R"({"paths": 3})",
          R"({"paths": [1, {"max_path_loss": 0, "missing": "x", "loss": 3}]})"}) {
        const Json json = Json::parse(odd);
        EXPECT_NO_THROW(static_cast<void>(to_json(check_health({json, json, json, kNow})))) << odd;
    }
}

std::string file(const std::string& path) {
    std::ifstream in(test::source_root() + "/" + path);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
}

// Return the words after each line's beginning.
std::vector<std::string> after(const std::string& text, const std::string& begin) {
    std::vector<std::string> out;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with(begin)) {
            out.push_back(line.substr(begin.size()));
        }
    }
    return out;
}

// "UnechoLinkDown" of "link-down"
std::string alert_of(std::string_view rule) {
    std::string out = "Unecho";
    bool begins = true;
    for (const char c : rule) {
        if (c != '-') {
            out += begins ? static_cast<char>(std::toupper(c)) : c;
        }
        begins = c == '-';
    }
    return out;
}

TEST(HealthRules, alerts_and_runbook_are_those_of_the_rules) {
    const std::string alerts = file("configs/monitoring/alerts.yml");
    std::vector<std::string> names{"UnechoServerDown", "UnechoNeverUp"};
    std::vector<std::string> sections;
    for (const Rule& rule : kRules) {
        const std::string name(rule.name);
        names.push_back(alert_of(name));
        sections.push_back(name);
        const std::string wait = name == "down" || name == "absent" ? "        for: 30s\n" : "";
        const std::string alert =
            "      - alert: " + alert_of(name) + "\n        expr: unecho_problem{rule=\"" + name +
            "\"} == 1\n" + wait + "        labels: {severity: " + name_of(rule.severity) +
            "}\n        annotations:\n          summary: \"{{ $labels.appliance }}{{ with "
            "$labels.where }}, {{ . }}{{ end }}: " +
            std::string(rule.headline) + "\"\n          runbook: \"" + std::string(kRunbook) + "#" +
            name + "\"\n";
        EXPECT_NE(alerts.find(alert), std::string::npos) << "not in alerts.yml:\n" << alert;
    }
    EXPECT_EQ(after(alerts, "      - alert: "), names);
    sections.insert(sections.end(), {"server-down", "never-up"});
    EXPECT_EQ(after(file(std::string(kRunbook)), "## "), sections);
}

}  // namespace
}  // namespace unecho::monitor
