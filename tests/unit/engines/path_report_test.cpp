// SPDX-License-Identifier: BSD-3-Clause
#include "dedup/engines/path_report.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/seed.h"

namespace unecho::engines {
namespace {

using nlohmann::ordered_json;
using pipeline::PathCounters;

PathFacts facts_between(std::uint64_t arrived, std::uint64_t missing) {
    PathFacts facts;
    facts.filter = "echo";
    facts.from = "tap-a";
    facts.to = "tap-b";
    facts.window = 50 * kMillisecond;
    facts.sample.bits = 3;
    facts.count.counters.arrived = arrived;
    facts.count.counters.missing = missing;
    facts.count.counters.came = arrived;
    return facts;
}

void add_delays(PathFacts& facts, const std::vector<Nanoseconds>& delays) {
    pipeline::PathCell cell;
    for (const Nanoseconds delay : delays) {
        cell.add_delay(delay);
    }
    facts.count.delays = cell.read().delays;
    facts.count.counters.timed = delays.size();
}

TEST(PathReport, of_no_packets_says_nothing_in_text_and_that_nothing_is_known_in_json) {
    const PathReport report = path_report(facts_between(0, 0));
    EXPECT_EQ(to_text(report), "");
    const ordered_json json = to_json(report);
    EXPECT_EQ(json["name"], "tap-a>tap-b");
    EXPECT_EQ(json["filter"], "echo");
    EXPECT_EQ(json["share"], 0.125);
    EXPECT_EQ(json["window_ns"], 50'000'000);
    EXPECT_EQ(json["arrived"], 0);
    EXPECT_EQ(json["loss"], (ordered_json{{"count", 0},
                                          {"of", 0},
                                          {"rate", 0.0},
                                          {"low", 0.0},
                                          {"high", 1.0},
                                          {"lost_here", 0.0}}));
    EXPECT_EQ(json["delay"], (ordered_json{{"packets", 0}}));
    EXPECT_EQ(json["delays"], ordered_json::array());
    EXPECT_EQ(json["changes"], ordered_json::object());
    EXPECT_EQ(json["hops"], 0);
    EXPECT_TRUE(json["max_path_loss"].is_null());
    EXPECT_TRUE(json["max_path_delay_ns"].is_null());
}

TEST(PathReport, of_packets_none_of_which_is_judged_says_so) {
    PathFacts facts = facts_between(0, 0);
    facts.count.counters.came = 7;
    facts.count.counters.untimed = 7;
    const PathReport report = path_report(facts);
    EXPECT_EQ(report.judged, 0U);
    EXPECT_EQ(to_text(report),
              "  tap-a > tap-b: not judged yet: of no packet is known that it had "
              "to come\n    untimed 7\n");
    EXPECT_EQ(to_json(report)["loss"]["high"], 1.0);
    EXPECT_EQ(to_json(report)["came"], 7);
}

TEST(PathReport, states_loss_delays_and_changes) {
    PathFacts facts = facts_between(9990, 10);
    facts.stated = true;
    facts.max_loss = 0.01;
    facts.max_delay = 5 * kMillisecond;
    facts.count.counters.overtaken = 12;
    facts.count.counters.unannounced = 3;
    facts.count.hops = 9990;
    facts.count.counters.directed = 9990;
    facts.count.changes[static_cast<std::size_t>(packet::Change::kTtl)] = 9990;
    facts.count.changes[static_cast<std::size_t>(packet::Change::kTagsAdded)] = 5;
    add_delays(facts, {kMillisecond, kMillisecond, kMillisecond, 3 * kMillisecond});
    const PathReport report = path_report(facts);
    EXPECT_EQ(report.judged, 10'000U);
    // Clopper and Pearson, from 10 of 10000 (tables: 0.000480 to 0.001838).
    EXPECT_NEAR(report.loss.low, 0.000480, 1e-6);
    EXPECT_NEAR(report.loss.high, 0.001838, 1e-6);
    const std::string text = to_text(report);
    EXPECT_EQ(
        text.find("  tap-a > tap-b: 10 of 10,000 sampled packets missing (0.10 %; 95 % interval"),
        0U)
        << text;
    EXPECT_NE(text.find("delay 1 ms in the median, 3 ms at the 99th percentile, 3 ms at most"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("    unannounced 3, overtaken 12, tags added 5, ttl 9,990\n"),
              std::string::npos)
        << text;
    const ordered_json json = to_json(report);
    EXPECT_EQ(json["stated"], true);
    EXPECT_EQ(json["loss"]["rate"], 0.001);
    EXPECT_EQ(json["loss"]["of"], 10'000);
    EXPECT_EQ(json["max_path_loss"], 0.01);
    EXPECT_EQ(json["max_path_delay_ns"], 5'000'000);
    EXPECT_EQ(json["changes"], (ordered_json{{"tags_added", 5}, {"ttl", 9990}}));
    EXPECT_EQ(json["hops"], 1.0);
    EXPECT_EQ(json["delay"]["packets"], 4);
    EXPECT_EQ(json["delay"]["mean_ns"], 1'500'000);
    EXPECT_EQ(json["delay"]["variation_ns"], 666'667);  // 2 ms in three differences
    EXPECT_EQ(json["delay"]["min_ns"], 1'000'000);
    EXPECT_EQ(json["delay"]["median_ns"], 1'000'000);
    EXPECT_EQ(json["delay"]["p99_ns"], 3'000'000);
    EXPECT_EQ(json["delay"]["p999_ns"], 3'000'000);
    EXPECT_EQ(json["delay"]["max_ns"], 3'000'000);
}

// The device at the second point may have lost packets itself: these are not lost on the path.
TEST(PathReport, leaves_out_of_the_lower_end_what_its_own_device_may_have_lost) {
    PathFacts facts = facts_between(9000, 1000);
    const PathReport before = path_report(facts);
    facts.received = 9900;
    facts.lost_here = 100;
    const PathReport after = path_report(facts);
    EXPECT_EQ(after.lost_here_share, 0.01);
    EXPECT_DOUBLE_EQ(after.loss.low, before.loss.low - 0.01);
    EXPECT_EQ(after.loss.high, before.loss.high);
    EXPECT_EQ(to_json(after)["loss"]["lost_here"], 0.01);
    EXPECT_EQ(to_json(after)["loss"]["low"], after.loss.low);
    facts.received = 1;
    facts.lost_here = 99;
    EXPECT_EQ(path_report(facts).loss.low, 0);
    EXPECT_EQ(path_report(facts).loss.high, before.loss.high);
}

// Each delay is in one class, which holds it up to the width of the fine buckets.
TEST(PathReport, has_all_delays_in_its_histogram) {
    SCOPED_TRACE(test::seed_note());
    std::mt19937_64 draw(test::seed());
    std::vector<Nanoseconds> delays{0, 999, 1000, 1001, 50 * kSecond, 2000 * kSecond};
    for (unsigned i = 0; i < 5000; ++i) {
        delays.push_back(draw() >> (24 + draw() % 40));
    }
    PathFacts facts = facts_between(delays.size(), 0);
    add_delays(facts, delays);
    const ordered_json classes = to_json(path_report(facts))["delays"];
    ASSERT_GT(classes.size(), 20U);
    std::uint64_t packets = 0;
    Nanoseconds before = 0;
    for (const ordered_json& one : classes) {
        const auto from = one["from_ns"].get<Nanoseconds>();
        const auto to = one["to_ns"].get<Nanoseconds>();
        EXPECT_LT(from, to);
        EXPECT_GE(from, before);
        before = to;
        const auto in_class = one["packets"].get<std::uint64_t>();
        packets += in_class;
        const auto between = [&](double low, double high) {
            std::uint64_t count = 0;
            for (const Nanoseconds delay : delays) {
                const auto value = static_cast<double>(delay);
                count += low <= value && (value < high || one == classes.back()) ? 1 : 0;
            }
            return count;
        };
        const double slack = 1.0 / 32;
        EXPECT_GE(in_class, between(static_cast<double>(from) * (1 + slack),
                                    static_cast<double>(to) * (1 - slack)));
        EXPECT_LE(in_class, between(static_cast<double>(from) * (1 - slack),
                                    static_cast<double>(to) * (1 + slack)));
    }
    EXPECT_EQ(packets, delays.size());
}

// Empty classes are left out, and the ends are 1, 2 and 5 times a power of ten.
TEST(PathReport, has_round_ends_of_classes) {
    PathFacts facts = facts_between(3, 0);
    add_delays(facts, {1500, 1500, 300 * kMicrosecond});
    EXPECT_EQ(to_json(path_report(facts))["delays"],
              ordered_json::array({{{"from_ns", 1000}, {"to_ns", 2000}, {"packets", 2}},
                                   {{"from_ns", 200'000}, {"to_ns", 500'000}, {"packets", 1}}}));
}

}  // namespace
}  // namespace unecho::engines
