// SPDX-License-Identifier: BSD-3-Clause
#include "dedup/engines/audit_report.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace unecho::engines {
namespace {

// Return the facts of a filter of 50 ms without problems.
AuditFacts facts_of(std::uint64_t fresh, std::uint64_t false_drops) {
    AuditFacts facts;
    facts.counters.fresh = fresh;
    facts.counters.false_drops = false_drops;
    facts.counters.echoes = 1'000'000;
    facts.window = 50 * kMillisecond;
    facts.slack = 10 * kMillisecond;
    facts.elapsed = 100 * kSecond;
    facts.bound = 1e-6;
    return facts;
}

void add_ages(AuditFacts& facts, unsigned copies, Nanoseconds age) {
    for (unsigned i = 0; i < copies; ++i) {
        facts.ages.add(age);
    }
}

TEST(AuditReport, says_whether_the_bound_is_held) {
    const AuditReport held = audit_report(facts_of(100'000'000, 50));
    EXPECT_EQ(held.false_drops.of, 100'000'050U);
    EXPECT_EQ(held.false_drops_verdict, AuditVerdict::kHeld);
    EXPECT_EQ(held.confirmed_in, Nanoseconds{0});
    EXPECT_EQ(audit_report(facts_of(100'000'000, 100)).false_drops_verdict, AuditVerdict::kOpen);
    const AuditReport broken = audit_report(facts_of(100'000'000, 150));
    EXPECT_EQ(broken.false_drops_verdict, AuditVerdict::kBroken);
    EXPECT_FALSE(broken.confirmed_in);
    EXPECT_FALSE(broken.advice.empty());
}

// 3.69 million are needed, and a million came in 100 s.
TEST(AuditReport, says_when_it_could_be_confirmed) {
    const AuditReport report = audit_report(facts_of(1'000'000, 0));
    EXPECT_EQ(report.false_drops_verdict, AuditVerdict::kOpen);
    ASSERT_TRUE(report.confirmed_in);
    EXPECT_NEAR(static_cast<double>(*report.confirmed_in) / kSecond, 268.9, 0.1);
    EXPECT_NE(to_text(report).find("confirmed in about 4 min"), std::string::npos)
        << to_text(report);
    AuditFacts nothing = facts_of(0, 0);
    nothing.bound.reset();
    EXPECT_FALSE(audit_report(nothing).confirmed_in);
    EXPECT_EQ(audit_report(nothing).false_drops_verdict, AuditVerdict::kOpen);
}

TEST(AuditReport, takes_one_miss_for_a_broken_filter_and_explained_ones_for_none) {
    AuditFacts facts = facts_of(1000, 0);
    EXPECT_EQ(audit_report(facts).misses_verdict, AuditVerdict::kHeld);
    facts.counters.misses_load = 5;
    const AuditReport explained = audit_report(facts);
    EXPECT_EQ(explained.misses_verdict, AuditVerdict::kHeld);
    EXPECT_EQ(explained.misses.of, 1'000'005U);
    EXPECT_NE(to_text(explained).find("5 more by more packets than planned"), std::string::npos);
    facts.counters.misses = 1;
    EXPECT_EQ(audit_report(facts).misses_verdict, AuditVerdict::kBroken);
    EXPECT_EQ(audit_report({}).misses_verdict, AuditVerdict::kOpen);
}

TEST(AuditReport, finds_the_window_that_copies_need_and_says_what_it_saves) {
    AuditFacts facts = facts_of(1000, 0);
    facts.filter_bytes = 64 << 20;
    add_ages(facts, 9990, 100 * kMicrosecond);
    add_ages(facts, 10, 20 * kMillisecond);
    const AuditReport report = audit_report(facts);
    ASSERT_TRUE(report.window_999);
    EXPECT_GT(*report.window_999, 100 * kMicrosecond);
    EXPECT_LE(*report.window_999, 125 * kMicrosecond);
    ASSERT_EQ(report.advice.size(), 1U);
    EXPECT_NE(report.advice[0].find("needs about 1/400 of the memory."), std::string::npos)
        << report.advice[0];
    add_ages(facts, 10, 20 * kMillisecond);  // too many of them now
    EXPECT_GT(*audit_report(facts).window_999, 20 * kMillisecond);
    EXPECT_TRUE(audit_report(facts).advice.empty());
    add_ages(facts, 500, 150 * kMillisecond);  // beyond window and slack
    ASSERT_EQ(audit_report(facts).advice.size(), 1U);
    EXPECT_EQ(audit_report(facts).advice[0].find("4.76 % of the packets that repeat one"), 0U);
    facts.counters.doubts_of_echoes = 1;  // short of room: it must not shrink, but may be longer
    const std::vector<std::string> advice = audit_report(facts).advice;
    EXPECT_TRUE(std::any_of(advice.begin(), advice.end(), [](const std::string& line) {
        return line.find("a longer window finds them") != std::string::npos;
    }));
    facts.counters.doubts_of_echoes = 0;
    facts.flow_key = true;
    EXPECT_TRUE(audit_report(facts).advice.empty());
    AuditFacts few = facts_of(1000, 0);
    add_ages(few, 999, 100);
    EXPECT_FALSE(audit_report(few).window_999);
}

TEST(AuditReport, judges_the_rate_by_the_busiest_hour) {
    AuditFacts facts = facts_of(1000, 0);
    facts.planned_rate = 1e7;
    facts.filter_bytes = 64 << 20;
    EXPECT_TRUE(audit_report(facts).advice.empty()) << "no hour has passed";
    facts.busiest_rate = 2e4;
    ASSERT_EQ(audit_report(facts).advice.size(), 1U);
    EXPECT_EQ(audit_report(facts).advice[0],
              "The filter is planned for 10 Mpps, and in its busiest hour 20 kpps came: that rate "
              "needs about 1/500 of the memory; leave room for bursts.");
    facts.filter_bytes = 55 << 10;
    EXPECT_TRUE(audit_report(facts).advice.empty()) << "it is small as it is";
    facts.filter_bytes = 64 << 20;
    facts.busiest_rate = 5e6;
    EXPECT_TRUE(audit_report(facts).advice.empty());
}

TEST(AuditReport, advises_what_its_cause_needs) {
    AuditFacts facts = facts_of(1000, 0);
    facts.counters.misses_stall = 7;
    ASSERT_EQ(audit_report(facts).advice.size(), 1U);
    EXPECT_EQ(
        audit_report(facts).advice[0],
        "7 sampled copies passed because a worker was away from its ports (stalls): give each "
        "worker a CPU of its own. A larger filter does not help.");
    facts.counters.misses_load = 1;
    facts.counters.doubts_of_echoes = 20'000;
    facts.counters.misses_evicted = 7;
    facts.exact = true;
    EXPECT_EQ(audit_report(facts).advice.size(), 4U);
}

// A filter that is too small for the traffic is never advised to shrink, nor its window.
TEST(AuditReport, never_contradicts_itself) {
    AuditFacts facts = facts_of(1000, 0);
    facts.planned_rate = 1e7;
    facts.busiest_rate = 2e4;
    facts.filter_bytes = 64 << 20;
    add_ages(facts, 9990, 100 * kMicrosecond);
    EXPECT_EQ(audit_report(facts).advice.size(), 2U);
    facts.counters.misses_load = 1;
    ASSERT_EQ(audit_report(facts).advice.size(), 1U);
    EXPECT_NE(audit_report(facts).advice[0].find("raise rate"), std::string::npos);
}

TEST(AgeHistogram, has_a_bucket_for_every_age) {
    using filter::AgeHistogram;
    for (unsigned i = 0; i + 1 < AgeHistogram::kBuckets; ++i) {
        const Nanoseconds begin = AgeHistogram::begin_of(i);
        const Nanoseconds end = AgeHistogram::begin_of(i + 1);
        ASSERT_LT(begin, end);
        EXPECT_EQ(AgeHistogram::bucket_of(begin), i);
        EXPECT_EQ(AgeHistogram::bucket_of(end - 1), i);
    }
    EXPECT_EQ(AgeHistogram::bucket_of(~Nanoseconds{0}), AgeHistogram::kBuckets - 1);
}

TEST(AuditReport, as_json_has_each_member) {
    AuditFacts facts = facts_of(1000, 3);
    facts.bits = 10;
    facts.crossings.push_back({"a", "b", 5});
    facts.causes[static_cast<std::size_t>(packet::Cause::kRouted)] = 5;
    facts.causes.back() = 2;
    add_ages(facts, 5, kMillisecond);
    const nlohmann::ordered_json json = to_json(audit_report(facts));
    for (const char* member :
         {"enabled", "share", "entries", "capacity", "memory_bytes", "counters", "false_drops",
          "misses", "ages", "crossings", "causes", "window_999_ns", "advice"}) {
        EXPECT_TRUE(json.contains(member)) << member;
    }
    EXPECT_EQ(json["share"], 1.0 / 1024);
    EXPECT_EQ(json["causes"], (nlohmann::ordered_json{{"routed", 5}, {"alike", 2}}));
    EXPECT_EQ(json["misses"]["explained"].size(), 4U);
    EXPECT_TRUE(json["window_999_ns"].is_null());
    EXPECT_EQ(json["counters"].size(), filter::kAuditCounters.size());
}

}  // namespace
}  // namespace unecho::engines
