// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/stats/stats_fold.h"

#include <gtest/gtest.h>

#include "unit/appliance/plans.h"

namespace unecho::appliance {
namespace {

using dataplane::Counters;
using pipeline::Reason;

// Two routes: tap-a and tap-b to the tool, and the tool back to tap-a.
Plan two_routes() {
    config::Config config = taps_to_tool();
    config::Route back = config.routes[0];
    back.from = {2};
    back.to = 0;
    config.routes.push_back(back);
    return plan_of(config, machine_with({0}), all_of(config, device("net_null")));
}

void receive(Counters& counters, PortIndex port, RouteIndex route, std::uint64_t packets,
             std::uint64_t bytes) {
    counters.rx[port].add(packets, bytes);
    counters.received[route] += packets;
}

void count(Counters& counters, RouteIndex route, Reason reason, std::uint64_t packets,
           std::uint64_t bytes) {
    counters.routes[route][static_cast<unsigned>(reason)].add(packets, bytes);
}

TEST(StatsFold, of_nothing_is_a_place_for_everything) {
    const Plan plan = two_routes();
    StatsReport report = empty_report(plan);
    finish(report);
    EXPECT_EQ(report.ports.size(), 3U);
    EXPECT_EQ(report.routes.size(), 2U);
    EXPECT_EQ(report.workers.size(), 1U);
    EXPECT_EQ(report.filters.size(), 1U);
    EXPECT_EQ(report.totals.received, 0U);
    EXPECT_EQ(report.totals.in_flight, 0U);
}

// Each reason has a unique count, so a lost or doubled one changes a sum.
TEST(StatsFold, counts_each_reason_under_its_fate) {
    const Plan plan = two_routes();
    std::array<std::uint64_t, 3> by_fate{};
    Counters counters;
    std::uint64_t all = 0;
    for (unsigned i = 0; i < pipeline::kReasons; ++i) {
        const std::uint64_t packets = std::uint64_t{1} << i;
        count(counters, 0, static_cast<Reason>(i), packets, 10 * packets);
        by_fate[static_cast<unsigned>(pipeline::kReasonTable[i].fate)] += packets;
        all += packets;
    }
    receive(counters, 0, 0, all, 10 * all);
    StatsReport report = empty_report(plan);
    add_outcomes(plan, counters, report);
    add_received(plan, counters, report);
    finish(report);
    const DispositionCounts& totals = report.totals;
    EXPECT_EQ(totals.received, all);
    EXPECT_EQ(totals.forwarded, by_fate[static_cast<unsigned>(pipeline::Disposition::kForwarded)]);
    EXPECT_EQ(totals.diverted, by_fate[static_cast<unsigned>(pipeline::Disposition::kDiverted)]);
    EXPECT_EQ(totals.dropped, by_fate[static_cast<unsigned>(pipeline::Disposition::kDropped)]);
    EXPECT_EQ(totals.in_flight, 0U);
    EXPECT_EQ(report.routes[0].counts.received, all);
    EXPECT_EQ(report.routes[1].counts.received, 0U);
    for (unsigned i = 0; i < pipeline::kReasons; ++i) {
        EXPECT_EQ(report.reasons[i].packets, std::uint64_t{1} << i);
        EXPECT_EQ(report.reasons[i].bytes, 10 * (std::uint64_t{1} << i));
    }
}

// A worker that no longer answers has an old last snapshot, which may miss packets that others
// settled.
TEST(StatsFold, what_was_settled_was_received) {
    const Plan plan = two_routes();
    Counters counters;
    receive(counters, 0, 0, 10, 1000);
    receive(counters, 2, 1, 9, 900);
    count(counters, 0, Reason::kNew, 8, 800);
    count(counters, 0, Reason::kEcho, 4, 400);
    count(counters, 1, Reason::kNew, 2, 200);
    StatsReport report = empty_report(plan);
    add_outcomes(plan, counters, report);
    add_received(plan, counters, report);
    receive_what_was_settled(report);
    finish(report);
    EXPECT_EQ(report.routes[0].counts.received, 12U);
    EXPECT_EQ(report.routes[0].counts.in_flight, 0U);
    EXPECT_EQ(report.routes[1].counts.received, 9U);
    EXPECT_EQ(report.routes[1].counts.in_flight, 7U);
    EXPECT_EQ(report.totals.received, 21U);
}

using Counts = std::vector<std::uint64_t>;

Counts as_list(const filter::TapCounts& counts) {
    return {counts.only_a, counts.only_b, counts.both};
}

TEST(StatsFold, of_taps_adds_windows_of_all_workers) {
    const TapTotals report =
        sum_of({{true, true, {8, {1, 2, 3}}, {7, {10, 20, 30}}, {100, 200, 300}},
                {true, true, {8, {4, 5, 6}}, {7, {40, 50, 60}}, {400, 500, 600}}});
    EXPECT_TRUE(report.ended);
    EXPECT_EQ(report.last.number, 7U);
    EXPECT_EQ(as_list(report.last.counts), (Counts{50, 70, 90}));
    EXPECT_EQ(as_list(report.total), (Counts{505, 707, 909}));
}

// One worker has ended the window. The others: one is still in it, one ended in an earlier one, one
// began in it, one after it, one saw nothing.
TEST(StatsFold, of_taps_takes_the_last_window_from_wherever_it_is) {
    const TapTotals report = sum_of({{true, true, {8, {1, 0, 0}}, {7, {10, 0, 0}}, {100, 0, 0}},
                                     {true, true, {7, {2, 0, 0}}, {6, {20, 0, 0}}, {200, 0, 0}},
                                     {true, true, {5, {3, 0, 0}}, {4, {30, 0, 0}}, {300, 0, 0}},
                                     {true, false, {7, {0, 4, 0}}, {}, {}},
                                     {true, false, {8, {0, 5, 0}}, {}, {}},
                                     {}});
    EXPECT_EQ(report.last.number, 7U);
    EXPECT_EQ(as_list(report.last.counts), (Counts{12, 4, 0}));
    EXPECT_EQ(as_list(report.total), (Counts{606, 9, 0}));
}

TEST(StatsFold, adds_the_tunnels_of_each_filter) {
    const Plan plan = two_routes();
    Counters counters;
    counters.tunnels[0] = {1, 2, 4, 8, 16};
    StatsReport report = empty_report(plan);
    add_outcomes(plan, counters, report);
    add_outcomes(plan, counters, report);
    std::uint64_t expected = 2;
    for (const auto& row : packet::kTunnelCounters) {
        EXPECT_EQ(report.filters[0].tunnels.*row.value, expected) << row.name;
        expected *= 2;
    }
}

TEST(StatsFold, adds_filters_of_workers) {
    FilterReport sum;
    filter::FilterCounters a;
    filter::FilterCounters b;
    std::uint64_t mark = 1;
    for (const auto& row : filter::kFilterCounters) {
        a.*row.value = mark;
        b.*row.value = 2 * mark;
        mark *= 10;
    }
    add_filter(a, sum);
    add_filter(b, sum);
    for (const auto& row : filter::kFilterCounters) {
        EXPECT_EQ(sum.counters.*row.value, 3 * (a.*row.value)) << row.name;
    }
}

TEST(StatsFold, takes_the_fullest_of_all_workers) {
    FilterReport sum;
    sum.planned_fill = 100;
    sum.generation = kMillisecond;
    for (const std::uint64_t fill : {3, 70, 20}) {
        add_fill(fill, sum);
    }
    EXPECT_EQ(sum.fill, 70U);
    EXPECT_EQ(sum.planned_fill, 100U);
    EXPECT_EQ(sum.generation, kMillisecond);
}

// The window is that of the worker with the shortest; early turns are the sum of all workers.
TEST(StatsFold, takes_the_least_window_of_all_workers) {
    FilterReport sum;
    sum.window = {100, 100, 0, 0, 0};
    add_window({100, 100, 0, 0, 0}, sum);
    EXPECT_EQ(sum.window.achieved, 100U);
    EXPECT_EQ(sum.window.shortest_at, 0U);
    add_window({60, 50, 7, 2, 1}, sum);
    add_window({90, 20, 9, 3, 0}, sum);
    add_window({80, 30, 8, 4, 5}, sum);
    EXPECT_EQ(sum.window.achieved, 60U);
    EXPECT_EQ(sum.window.shortest, 20U);
    EXPECT_EQ(sum.window.shortest_at, 9U);
    EXPECT_EQ(sum.window.early_turns, 9U);
    EXPECT_EQ(sum.window.held_turns, 6U);
}

}  // namespace
}  // namespace unecho::appliance
