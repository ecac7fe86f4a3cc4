// SPDX-License-Identifier: BSD-3-Clause
#include "monitor/status/health.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "dedup/engines/audit_report.h"
#include "seen.h"

namespace unecho::monitor {
namespace {

// Return the findings if `change` happened within the last second.
template <typename Change>
std::vector<Finding> found(Change&& change) {
    SnapshotPair snapshots{healthy(), healthy(), kSecond};
    change(snapshots.after);
    return check_health(snapshots);
}

template <typename Change>
void expect_one(Severity severity, const std::string& text, Change&& change) {
    const auto findings = found(change);
    ASSERT_EQ(findings.size(), 1U) << text;
    EXPECT_EQ(findings[0].severity, severity);
    EXPECT_EQ(findings[0].text, text);
    EXPECT_EQ(worst_of(findings), severity);
}

TEST(Health, nothing_is_found_where_all_is_well) {
    EXPECT_TRUE(found([](Json&) {}).empty());
    EXPECT_EQ(worst_of({}), Severity::kFine);
}

TEST(Health, a_broken_promise_is_broken) {
    expect_one(Severity::kBroken, "received 1,001 packets and accounts for 1,000 packets",
               [](Json& now) { now["counters"]["received"] = 1001; });
    expect_one(Severity::kBroken, "worker on lcore 3 does not answer",
               [](Json& now) { now["workers"][0]["answering"] = false; });
    expect_one(Severity::kBroken,
               "filter echo: false drops are above the bound: at least 2e-06, bound 1e-06",
               [](Json& now) {
                   Json& drops = now["filters"][0]["audit"]["false_drops"];
                   drops["verdict"] = "broken";
                   drops["low"] = 2e-6;
               });
    expect_one(Severity::kBroken,
               "filter echo: 2 sampled echoes inside the window not found, for no known reason",
               [](Json& now) {
                   Json& misses = now["filters"][0]["audit"]["misses"];
                   misses["count"] = 2;
               });
}

TEST(Health, the_window_of_a_worker_that_does_not_answer_says_nothing) {
    expect_one(Severity::kBroken, "worker on lcore 3 does not answer", [](Json& now) {
        now["workers"][0]["answering"] = false;
        now["filters"][0]["achieved_window_ns"] = 0;
        now["filters"][0]["early_turns"] = 0;
    });
}

TEST(Health, what_costs_packets_or_certainty_is_a_warning) {
    expect_one(Severity::kWarning, "port tap-a, rx_missed: 1 packet lost in the last 1s",
               [](Json& now) { now["ports"][0]["rx_missed"] = 1; });
    expect_one(Severity::kWarning, "transmit queues, tx_lost: 2 packets lost in the last 1s",
               [](Json& now) { now["reasons"]["tx_lost"] = 2; });
    expect_one(Severity::kWarning, "link of port tap-a is down",
               [](Json& now) { now["ports"][0]["link_up"] = false; });
    expect_one(Severity::kWarning,
               "filter echo keeps 20ms of its 50ms window: more packets than planned",
               [](Json& now) {
                   now["filters"][0]["achieved_window_ns"] = 20 * kMillisecond;
                   now["filters"][0]["early_turns"] = 1;
               });
    expect_one(Severity::kWarning,
               "filter echo keeps 20ms of its 50ms window, though no more packets came than "
               "planned",
               [](Json& now) {
                   now["filters"][0]["achieved_window_ns"] = 20 * kMillisecond;
                   now["filters"][0]["early_turns"] = 0;
               });
    expect_one(Severity::kWarning,
               "filter echo: 1 sampled echo inside the window not found, each for a known reason",
               [](Json& now) {
                   Json& misses = now["filters"][0]["audit"]["misses"];
                   misses["explained"]["evicted"] = 1;
               });
}

TEST(Health, of_a_root_that_sites_share_is_a_warning) {
    const auto with_root = [](unsigned answering, unsigned no_room) {
        return [=](Json& now) {
            now["filters"][0]["root"] = {
                {"masters", 3}, {"answering", answering}, {"no_room", no_room}};
        };
    };
    EXPECT_TRUE(found(with_root(3, 0)).empty());
    expect_one(Severity::kWarning, "filter echo: of its root's masters 2 of 3 answer",
               with_root(2, 0));
    expect_one(Severity::kWarning,
               "filter echo: its root had no room for 7 flows; give it more flows, at all sites",
               with_root(3, 7));
    expect_one(
        Severity::kWarning,
        "filter echo: no master of its root has the slots of 24 of 48 parts of its flows",
        [](Json& now) {
            now["filters"][0]["root"] = {{"masters", 1}, {"answering", 1}, {"unassigned", 24}};
        });
}

// The audit does not count misses with a reason among those without.
TEST(Health, explained_misses_excuse_no_others) {
    filter::AuditCounters counters;
    counters.misses = 1;
    counters.misses_evicted = 3;
    engines::AuditFacts facts;
    facts.counters = counters;
    const Json audit = Json::parse(engines::to_json(engines::audit_report(facts)).dump());
    const auto findings = found([&](Json& now) { now["filters"][0]["audit"] = audit; });
    ASSERT_EQ(findings.size(), 2U);
    EXPECT_EQ(findings[0].severity, Severity::kBroken);
    EXPECT_EQ(findings[0].text,
              "filter echo: 1 sampled echo inside the window not found, for no known reason");
    EXPECT_EQ(findings[1].severity, Severity::kWarning);
    EXPECT_EQ(findings[1].text,
              "filter echo: 3 sampled echoes inside the window not found, each for a known reason");
}

TEST(Health, doubts_count_from_a_hundredth_of_the_echoes_on) {
    EXPECT_TRUE(found([](Json& now) { now["reasons"]["doubt"] = 3; }).empty());
    EXPECT_EQ(found([](Json& now) { now["reasons"]["doubt"] = 4; }).size(), 1U);
}

// Old losses are no reason to warn forever, unless their share is large.
TEST(Health, losses_of_long_ago_count_by_their_share) {
    for (const auto& [lost, findings] : {std::pair{10, 0U}, {11, 1U}}) {
        SnapshotPair snapshots{healthy(), healthy(), kSecond};
        for (Json* look : {&snapshots.before, &snapshots.after}) {
            (*look)["counters"] = {{"received", 100'000}, {"forwarded", 100'000}};
            (*look)["ports"][0]["rx_missed"] = lost;
        }
        EXPECT_EQ(check_health(snapshots).size(), findings) << lost;
        snapshots.before = Json();
        EXPECT_EQ(check_health(snapshots).size(), findings) << "one look, " << lost;
    }
}

TEST(Health, explained_misses_of_long_ago_count_by_their_share) {
    for (const auto& [missed, findings] : {std::pair{10, 0U}, {11, 1U}}) {
        SnapshotPair snapshots{healthy(), healthy(), kSecond};
        for (Json* look : {&snapshots.before, &snapshots.after}) {
            Json& misses = (*look)["filters"][0]["audit"]["misses"];
            misses["of"] = 100'000;
            misses["explained"]["stall"] = missed;
        }
        EXPECT_EQ(check_health(snapshots).size(), findings) << missed;
        snapshots.before["filters"][0]["audit"]["misses"]["explained"]["stall"] = missed - 1;
        EXPECT_EQ(check_health(snapshots).size(), 1U) << "one in between, " << missed;
        snapshots.before = Json();
        EXPECT_EQ(check_health(snapshots).size(), findings) << "one look, " << missed;
    }
}

TEST(Health, the_worst_is_first) {
    const auto findings = found([](Json& now) {
        now["ports"][0]["link_up"] = false;
        now["counters"]["received"] = 1;
        now["reasons"]["tx_lost"] = 2;
    });
    ASSERT_EQ(findings.size(), 3U);
    EXPECT_EQ(findings[0].severity, Severity::kBroken);
    EXPECT_EQ(findings[2].severity, Severity::kWarning);
}

}  // namespace
}  // namespace unecho::monitor
