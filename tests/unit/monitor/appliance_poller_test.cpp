// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/client/appliance_poller.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "base/os/clock.h"
#include "fake_appliance.h"
#include "monitor/client/status_collector.h"

namespace unecho::monitor {
namespace {

Json events_of(std::uint64_t first, std::uint64_t last) {
    Json out = Json::object();
    for (std::uint64_t number = first; number <= last; ++number) {
        out[std::to_string(number - first)] = {{"number", number}, {"text", "link"}};
    }
    return out;
}

class WatchTest : public WithFolder {
  protected:
    [[nodiscard]] TelemetrySocket place() const {
        return {"taps", folder_ + "/taps/dpdk_telemetry.v2"};
    }
    static Answers answers() { return answers_of(healthy()); }

    const std::atomic<bool> never_{false};
};

TEST_F(WatchTest, of_nothing_sees_nothing) {
    AppliancePoller watch(place(), never_);
    EXPECT_FALSE(watch.look());
    EXPECT_EQ(watch.seen(), nullptr);
}

TEST_F(WatchTest, of_another_program_sees_nothing) {
    const FakeAppliance other(folder_, "taps", {{"/ethdev/list", Json::array()}});
    AppliancePoller watch(place(), never_);
    EXPECT_FALSE(watch.look());
    EXPECT_EQ(watch.seen(), nullptr);
}

TEST_F(WatchTest, sees_what_is_told) {
    const FakeAppliance taps(folder_, "taps", answers());
    AppliancePoller watch(place(), never_);
    ASSERT_TRUE(watch.look());
    const auto seen = watch.seen();
    ASSERT_NE(seen, nullptr);
    EXPECT_EQ(seen->state, ApplianceState::kRunning);
    EXPECT_EQ(seen->starts, 1U);
    EXPECT_EQ(seen->seen["counters"], healthy()["counters"]);
    EXPECT_EQ(seen->seen["ports"], healthy()["ports"]);
    EXPECT_EQ(seen->seen["filters"][0]["window_ns"], 50 * kMillisecond);
    EXPECT_EQ(seen->descriptions->kinds, kinds());
    EXPECT_EQ(to_json(*seen)["state"], "running");
}

TEST_F(WatchTest, tells_silence_from_absence_and_knows_the_next_process) {
    auto taps = std::make_unique<FakeAppliance>(folder_, "taps", answers());
    AppliancePoller watch(place(), never_);
    ASSERT_TRUE(watch.look());
    taps->keep_silent(true);
    watch.set_timeout(kMillisecond);
    ASSERT_TRUE(watch.look());
    EXPECT_EQ(watch.seen()->state, ApplianceState::kSilent);
    EXPECT_EQ(watch.seen()->problem, "does not answer");
    EXPECT_EQ(watch.seen()->seen["counters"]["received"], 1000) << "its last answer stays";
    taps->keep_silent(false);
    watch.set_timeout(30 * kSecond);
    ASSERT_TRUE(watch.look());
    EXPECT_EQ(watch.seen()->state, ApplianceState::kRunning);
    EXPECT_EQ(watch.seen()->starts, 1U) << "it is the same";
    taps.reset();
    ASSERT_TRUE(watch.look());
    EXPECT_EQ(watch.seen()->state, ApplianceState::kGone);
    EXPECT_EQ(watch.seen()->problem, "is not running");
    taps = std::make_unique<FakeAppliance>(folder_, "taps", answers());
    ASSERT_TRUE(watch.look());
    EXPECT_EQ(watch.seen()->state, ApplianceState::kRunning);
    EXPECT_EQ(watch.seen()->starts, 2U);
    EXPECT_EQ(Json::parse("{" + watch.history(10) + "}")["times_ms"].size(), 5U);
}

// Each answer is in time, but not all together: the status shown would be too old.
TEST_F(WatchTest, waits_for_all_answers_of_a_look_together) {
    FakeAppliance taps(folder_, "taps", answers());
    AppliancePoller watch(place(), never_);
    ASSERT_TRUE(watch.look());
    taps.think(std::chrono::milliseconds(30));  // for each of eight answers
    watch.set_timeout(150 * kMillisecond);
    ASSERT_TRUE(watch.look());
    EXPECT_EQ(watch.seen()->state, ApplianceState::kSilent);
    EXPECT_EQ(watch.seen()->problem, "does not answer");
    taps.think({});
    watch.set_timeout(30 * kSecond);
    ASSERT_TRUE(watch.look());
    EXPECT_EQ(watch.seen()->state, ApplianceState::kRunning);
    EXPECT_EQ(watch.seen()->starts, 1U);
}

// The appliance was away for less than a second.
TEST_F(WatchTest, notices_a_process_that_replaced_another_between_two_looks) {
    auto taps = std::make_unique<FakeAppliance>(folder_, "taps", answers());
    AppliancePoller watch(place(), never_);
    ASSERT_TRUE(watch.look());
    taps.reset();
    taps = std::make_unique<FakeAppliance>(folder_, "taps", answers());
    ASSERT_TRUE(watch.look());
    EXPECT_EQ(watch.seen()->state, ApplianceState::kRunning);
    EXPECT_EQ(watch.seen()->starts, 2U);
    EXPECT_EQ(Json::parse("{" + watch.history(10) + "}")["totals"]["received"],
              Json({nullptr, nullptr}));
}

TEST_F(WatchTest, goes_by_pid_and_start_where_they_are_told) {
    FakeAppliance taps(folder_, "taps", answers());
    Json info = healthy()["info"];
    info["start_unix_ns"] = 5;
    taps.set("/unecho/info", info);
    AppliancePoller watch(place(), never_);
    ASSERT_TRUE(watch.look());
    info["uptime_ns"] = 1;
    taps.set("/unecho/info", info);
    ASSERT_TRUE(watch.look());
    EXPECT_EQ(watch.seen()->starts, 1U);
    info["start_unix_ns"] = 6;
    taps.set("/unecho/info", info);
    ASSERT_TRUE(watch.look());
    EXPECT_EQ(watch.seen()->starts, 2U);
}

TEST_F(WatchTest, asks_by_index_where_an_answer_does_not_hold_all) {
    FakeAppliance taps(folder_, "taps", answers());
    taps.set("/unecho/ports", {{"0", {{"name", "a"}}}, {"truncated", 1}});
    for (int i = 0; i < 3; ++i) {
        taps.set("/unecho/ports," + std::to_string(i), {{"name", std::string(1, 'a' + i)}});
    }
    AppliancePoller watch(place(), never_);
    ASSERT_TRUE(watch.look());
    const Json& ports = watch.seen()->seen["ports"];
    ASSERT_EQ(ports.size(), 3U);
    EXPECT_EQ(ports[2]["name"], "c");
    EXPECT_EQ(watch.seen()->seen["routes"].size(), 1U);
}

TEST_F(WatchTest, asks_for_descriptions_by_block_where_an_answer_does_not_hold_all) {
    FakeAppliance taps(folder_, "taps", answers());
    taps.set("/unecho/help", {{"reasons", help()["reasons"]}, {"truncated", 1}});
    for (const char* block : {"ports", "routes", "workers", "filters"}) {
        taps.set(std::string("/unecho/help,") + block, help()[block]);
    }
    taps.set("/unecho/help,reasons", help()["reasons"]);
    AppliancePoller watch(place(), never_);
    ASSERT_TRUE(watch.look());
    const Json& said = watch.seen()->descriptions->help;
    EXPECT_FALSE(said.contains("truncated"));
    for (const char* block : {"reasons", "ports", "routes", "workers", "filters"}) {
        EXPECT_EQ(said.at(block), help()[block]) << block;
    }
}

TEST_F(WatchTest, asks_for_events_and_stalls_once) {
    FakeAppliance taps(folder_, "taps", answers());
    taps.set("/unecho/events,0", events_of(1, 3));
    taps.set("/unecho/events,3", Json::object());
    Json worker = healthy()["workers"][0];
    worker["stalls"] = 1;
    taps.set("/unecho/workers", {{"0", worker}});
    taps.set("/unecho/stalls,0", {{"0", {{"took_ns", 7}}}});
    AppliancePoller watch(place(), never_);
    ASSERT_TRUE(watch.look());
    taps.asked();
    ASSERT_TRUE(watch.look());
    const auto asked = taps.asked();
    EXPECT_EQ(std::count(asked.begin(), asked.end(), "/unecho/events,3"), 1);
    EXPECT_EQ(std::count(asked.begin(), asked.end(), "/unecho/events,0"), 0);
    EXPECT_EQ(std::count(asked.begin(), asked.end(), "/unecho/stalls,0"), 0);
    EXPECT_EQ(std::count(asked.begin(), asked.end(), "/unecho/help"), 0);
    EXPECT_EQ(watch.seen()->seen["events"].size(), 3U);
    EXPECT_EQ(watch.seen()->seen["workers"][0]["stall_log"][0]["took_ns"], 7);
    Json more = events_of(4, 70);
    more["truncated"] = 1;
    taps.set("/unecho/events,3", more);
    taps.set("/unecho/events,70", events_of(71, 72));
    ASSERT_TRUE(watch.look());
    const Json& events = watch.seen()->seen["events"];
    EXPECT_EQ(events.size(), 64U);
    EXPECT_EQ(events.back()["number"], 72);
}

TEST_F(WatchTest, joins_an_event_s_text_from_its_pieces) {
    FakeAppliance taps(folder_, "taps", answers());
    taps.set(
        "/unecho/events,0",
        {{"0", {{"number", 1}, {"text", "worker 3 do..."}, {"pieces", {"worker 3 ", "does not"}}}},
         {"1", {{"number", 2}, {"text", "short"}, {"pieces", "of another kind"}}}});
    taps.set("/unecho/events,2", Json::object());
    AppliancePoller watch(place(), never_);
    ASSERT_TRUE(watch.look());
    const Json& events = watch.seen()->seen["events"];
    EXPECT_EQ(events[0], Json({{"number", 1}, {"text", "worker 3 does not"}}));
    EXPECT_EQ(events[1]["text"], "short");
}

TEST_F(WatchTest, an_audit_that_is_told_apart_is_the_filter_s) {
    Json filter = healthy()["filters"][0];
    Json audit = filter["audit"];
    filter.erase("audit");
    audit["false_drops"]["low"] = "2e-09";  // DPDK sends fractions as strings
    FakeAppliance taps(folder_, "taps", answers());
    taps.set("/unecho/filters", {{"0", filter}});
    taps.set("/unecho/audit,0", audit);
    AppliancePoller watch(place(), never_);
    ASSERT_TRUE(watch.look());
    const Json& seen = watch.seen()->seen;
    EXPECT_EQ(seen["filters"][0]["audit"]["false_drops"]["low"], 2e-9);
    ASSERT_EQ(seen["audit"].size(), 1U);
    EXPECT_EQ(seen["audit"][0]["filter"], "echo");
}

// Also a reader that has only just come knows what happened in the last 40 s, and no more.
TEST_F(WatchTest, judges_by_the_past_that_the_appliance_keeps) {
    FakeAppliance taps(folder_, "taps", answers());
    Json ports = healthy()["ports"];
    ports[0]["rx_missed"] = 20;
    taps.set("/unecho/ports", {{"0", ports[0]}, {"1", ports[1]}});
    const auto past = [&](unsigned missed, const std::string& seconds) {
        taps.set("/unecho/past,totals," + seconds,
                 {{"uptime_ns", kSecond}, {"newest_uptime_ns", 2 * kSecond}});
        taps.set("/unecho/past,ports," + seconds,
                 {{"0", {{"name", "tap-a"}, {"rx_missed", missed}}}});
    };
    past(20, "40");
    past(15, "60");
    past(0, "3600");
    AppliancePoller watch(place(), never_);
    ASSERT_TRUE(watch.look());
    EXPECT_EQ(watch.seen()->health.lost, 0U);
    AppliancePoller sooner(place(), never_);
    sooner.set_span(60 * kSecond);
    ASSERT_TRUE(sooner.look());
    EXPECT_EQ(sooner.seen()->health.lost, 5U);
    EXPECT_EQ(sooner.seen()->health.findings.at(0).rule, "rx-missed");
}

// A sample comes every ten seconds of the appliance's time, whenever the last query was.
TEST_F(WatchTest, asks_for_the_past_as_soon_as_there_is_another_sample) {
    FakeAppliance taps(folder_, "taps", answers());
    Json info = healthy()["info"];
    Json port = healthy()["ports"][0];
    port["rx_missed"] = 20;
    taps.set("/unecho/ports", {{"0", port}});
    const auto past = [&](unsigned missed, Nanoseconds newest) {
        taps.set("/unecho/past,totals,40", {{"uptime_ns", kSecond}, {"newest_uptime_ns", newest}});
        taps.set("/unecho/past,ports,40", {{"0", {{"name", "tap-a"}, {"rx_missed", missed}}}});
    };
    AppliancePoller watch(place(), never_);
    const auto lost_at = [&](Nanoseconds uptime) {
        info["uptime_ns"] = uptime;
        taps.set("/unecho/info", info);
        EXPECT_TRUE(watch.look());
        return watch.seen()->health.lost;
    };
    past(15, 100 * kSecond);
    EXPECT_EQ(lost_at(109 * kSecond), 5U);
    past(20, 110 * kSecond);
    EXPECT_EQ(lost_at(109 * kSecond), 5U) << "there is no other yet";
    EXPECT_EQ(lost_at(110 * kSecond), 0U);
}

TEST_F(WatchTest, one_that_does_not_answer_is_down) {
    FakeAppliance taps(folder_, "taps", answers());
    AppliancePoller watch(place(), never_);
    ASSERT_TRUE(watch.look());
    watch.set_timeout(50 * kMillisecond);
    taps.keep_silent(true);
    ASSERT_TRUE(watch.look());
    const Health& health = watch.seen()->health;
    EXPECT_EQ(health.severity, Severity::kBroken);
    EXPECT_EQ(health.findings.at(0).rule, "down");
    EXPECT_EQ(health.text.find("The appliance does not answer. "), 0U) << health.text;
}

TEST_F(WatchTest, tells_the_appliance_what_is_acknowledged) {
    FakeAppliance taps(folder_, "taps", answers());
    Json port = healthy()["ports"][0];
    port["link_up"] = 0;
    taps.set("/unecho/ports", {{"0", port}});
    StatusCollector collector({folder_}, "", never_);
    collector.look();
    const auto refused = collector.acknowledge("link-down");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().context,
              "taps: only root and the user of unecho run may acknowledge an incident");
    EXPECT_EQ(collector.acknowledge("no-such-rule").error().code, Errc::kNotFound);
    taps.set("/unecho/acknowledge,link-down,port tap-a", {{"accepted", 1}});
    const auto told = collector.acknowledge("link-down");
    ASSERT_TRUE(told);
    EXPECT_EQ(told->size(), 1U);
    taps.set("/unecho/acknowledged",
             {{"0", {{"rule", "link-down"}, {"where", "port tap-a"}, {"unix_ns", unix_now()}}}});
    collector.look();
    EXPECT_EQ(collector.all()[0].appliance->health.severity, Severity::kFine);
}

TEST_F(WatchTest, a_survey_has_the_last_two_looks) {
    FakeAppliance taps(folder_, "taps", answers());
    StatusCollector collector({folder_}, "", never_);
    collector.look();
    ASSERT_TRUE(collector.found());
    ASSERT_EQ(collector.all().size(), 1U);
    EXPECT_TRUE(collector.all()[0].snapshots.before.is_null());
    Json counters = healthy()["counters"];
    counters["received"] = 1200;
    taps.set("/unecho/counters", counters);
    collector.look();
    EXPECT_EQ(collector.all()[0].snapshots.before["counters"]["received"], 1000);
    EXPECT_EQ(collector.all()[0].snapshots.after["counters"]["received"], 1200);
    EXPECT_GT(collector.all()[0].snapshots.between, 0U);
    StatusCollector other({folder_}, "other", never_);
    other.look();
    ASSERT_FALSE(other.found());
    EXPECT_EQ(other.found().error().context, "no appliance is called \"other\"; there are: taps");
}

}  // namespace
}  // namespace unecho::monitor
