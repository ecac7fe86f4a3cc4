// SPDX-License-Identifier: BSD-3-Clause
#include "dedup/engines/planning/candidates.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace unecho::engines {
namespace {

SizingRequest question_at(std::optional<double> rate, std::optional<std::uint64_t> memory = {}) {
    return {50 * kMillisecond, 1e-4, rate, memory};
}

Candidates found(const SizingRequest& question) {
    auto candidates = find_candidates(question);
    EXPECT_TRUE(candidates) << candidates.error().context;
    return *candidates;
}

// Return the candidate of one engine, computed without the others.
Candidate alone(const SizingRequest& question, const std::string& engine) {
    const auto* const name = std::find(kEngineNames.begin(), kEngineNames.end(), engine);
    const std::array only{static_cast<Engine>(name - kEngineNames.begin())};
    const auto candidates = find_candidates(question, only);
    EXPECT_TRUE(candidates) << candidates.error().context;
    return candidates->list.front();
}

const Candidate& of(const Candidates& candidates, const std::string& engine) {
    const auto place =
        std::find_if(candidates.list.begin(), candidates.list.end(),
                     [&](const Candidate& c) { return engine_name(c.geometry) == engine; });
    EXPECT_NE(place, candidates.list.end()) << engine;
    return *place;
}

TEST(Candidates, of_a_rate_are_all_engines_and_keep_the_targets) {
    const Candidates candidates = found(question_at(1e6));
    std::set<std::string> names;
    for (const Candidate& c : candidates.list) {
        names.insert(engine_name(c.geometry));
        EXPECT_LE(c.prediction.false_drop, 1e-4);
        EXPECT_LE(c.prediction.npws, sizing::kMaxNpws);
        EXPECT_EQ(c.prediction.window_keys, 50'000U);
        EXPECT_TRUE(c.fits);
    }
    const auto able = engines_that([](const EngineInfo& info) { return !info.counts_packets; });
    EXPECT_EQ(names, (std::set<std::string>{able.begin(), able.end()}));
    EXPECT_TRUE(candidates.refused.empty());
}

TEST(Candidates, of_a_rate_are_ordered_by_time_within_twice_the_least_memory) {
    const Candidates candidates = found(question_at(1e6));
    std::uint64_t least = ~std::uint64_t{0};
    for (const Candidate& c : candidates.list) {
        least = std::min(least, c.bytes);
    }
    bool far = false;
    double time = 0;
    std::uint64_t bytes = 0;
    for (const Candidate& c : candidates.list) {
        if (c.bytes <= 2 * least) {
            EXPECT_FALSE(far) << engine_name(c.geometry);
            EXPECT_GE(c.packet_ns, time);
            time = c.packet_ns;
        } else {
            far = true;
            EXPECT_GE(c.bytes, bytes);
            bytes = c.bytes;
        }
    }
    EXPECT_TRUE(far);
    EXPECT_EQ(candidates.reason.find("line is first"), 0U) << candidates.reason;
    EXPECT_NE(candidates.reason.find("fingerprint saves"), std::string::npos) << candidates.reason;
}

TEST(Candidates, may_be_of_some_engines_only) {
    const auto some = find_candidates(question_at(1e6), kAutoEngines);
    const auto all = found(question_at(1e6));
    ASSERT_TRUE(some);
    EXPECT_EQ(some->list.size(), kAutoEngines.size());
    // The best engine of all is one that "auto" chooses among.
    EXPECT_EQ(engine_name(some->list.front().geometry), engine_name(all.list.front().geometry));
}

TEST(Candidates, that_do_not_fit_come_last_and_say_so) {
    const Candidates all = found(question_at(1e6));
    const std::uint64_t limit = of(all, "tlbf").bytes - 1;
    const Candidates some = found(question_at(1e6, limit));
    EXPECT_EQ(some.list.size(), all.list.size());
    EXPECT_FALSE(of(some, "tlbf").fits);
    EXPECT_FALSE(some.list.back().fits);
    EXPECT_TRUE(some.list.front().fits);
    EXPECT_NE(to_text(some).find("(too much)"), std::string::npos);
    const Candidates none = found(question_at(1e6, 1000));
    EXPECT_FALSE(none.list.front().fits);
    const auto least =
        std::min_element(none.list.begin(), none.list.end(),
                         [](const Candidate& a, const Candidate& b) { return a.bytes < b.bytes; });
    EXPECT_EQ(none.reason,
              "nothing fits into 1000 B: " + std::string(engine_name(least->geometry)) +
                  " needs the least, " + format_size(least->bytes));
}

// The reverse question: the largest rate for the memory must need nearly all of it.
TEST(Candidates, of_a_memory_use_nearly_all_of_it) {
    constexpr std::uint64_t kMemory = 4 << 20;
    const Candidates candidates = found(question_at({}, kMemory));
    double rate = 1e18;
    for (const Candidate& c : candidates.list) {
        EXPECT_LE(c.bytes, kMemory);
        EXPECT_GE(static_cast<double>(c.bytes), 0.97 * kMemory) << engine_name(c.geometry);
        EXPECT_LE(c.rate, rate);
        rate = c.rate;
        EXPECT_EQ(alone(question_at(c.rate), engine_name(c.geometry)).bytes, c.bytes);
    }
}

// The tables of repeats have sizes of powers of two, so memory grows in large steps with the rate.
TEST(Candidates, of_a_memory_with_repeats_take_nearly_the_highest_rate) {
    for (const std::uint64_t memory : {std::uint64_t{16} << 20, std::uint64_t{64} << 20}) {
        SizingRequest question{kSecond, 1e-4, {}, memory};
        question.unidentified = 0.25;
        for (const Candidate& c : found(question).list) {
            SCOPED_TRACE(std::string(engine_name(c.geometry)));
            question.rate = c.rate * 1.02;
            const auto above = find_candidates(question, std::array{engine_of(c.geometry)});
            EXPECT_TRUE(!above || above->list.empty() || !above->list.front().fits) << c.rate;
            question.rate.reset();
        }
    }
}

// An engine that cannot use all of the memory gives the rate of what it can use: 2^31 entries, a
// quarter of them as room for bursts.
TEST(Candidates, of_more_memory_than_an_engine_can_use_take_the_rate_that_it_can) {
    constexpr std::uint64_t kGiB = 1 << 30;
    const double most = std::ldexp(1, 31) / 1.25 / 60;
    double before = 0;
    for (const std::uint64_t memory : {64 * kGiB, 90 * kGiB, 200 * kGiB, 1000 * kGiB}) {
        const Candidate exact = alone({60 * kSecond, 0.5, {}, memory}, "exact");
        EXPECT_GE(exact.rate, before) << memory;
        before = memory == 64 * kGiB ? exact.rate : 0.98 * most;
        EXPECT_LE(exact.rate, most) << memory;
        EXPECT_TRUE(exact.fits);
    }
}

TEST(Candidates, too_little_memory_for_any_rate_is_a_refusal) {
    const Candidates candidates = found(question_at({}, 2000));
    EXPECT_FALSE(candidates.refused.empty());
    EXPECT_NE(candidates.refused.front().find("needs at least"), std::string::npos);
    const auto none = find_candidates(question_at({}, 63));
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Errc::kConfig);
    EXPECT_EQ(none.error().context.find('\n'), std::string::npos);
}

TEST(Candidates, without_rate_and_memory_are_refused) {
    const auto none = find_candidates(question_at({}));
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Errc::kConfig);
    EXPECT_EQ(none.error().context, "neither a rate nor a memory is given; one of them is needed");
}

TEST(Candidates, that_cannot_be_are_named_with_the_reason) {
    const Candidates candidates = found({kSecond, 1e-6, 1e11, {}});
    ASSERT_FALSE(candidates.refused.empty());
    EXPECT_NE(to_text(candidates).find("not possible: exact: window 1 s at 100 Gpps"),
              std::string::npos);
}

// Engines that count the packets of a flow are listed beside those that use a key for each packet.
TEST(Candidates, of_the_first_packets_of_a_flow_are_the_engines_that_count_them_too) {
    SizingRequest question = question_at(1e6);
    const Candidates plain = found(question);
    for (const unsigned first : {2U, 3U, 57U}) {
        question.first = first;
        const Candidates some = found(question);
        EXPECT_EQ(some.list.size(), plain.list.size() + 1);
        const Candidate& counting = of(some, "shbf-x");
        EXPECT_EQ(std::get<sizing::ShbfXWindowGeometry>(counting.geometry).c, first);
        EXPECT_LE(counting.prediction.false_drop, 1e-4);
        EXPECT_DOUBLE_EQ(counting.lines, counting.prediction.lines_per_packet);
        // The others need the memory of single packets, and query 1 to n times.
        for (const Candidate& c : plain.list) {
            const Candidate& same = of(some, engine_name(c.geometry));
            EXPECT_EQ(same.bytes, c.bytes);
            EXPECT_DOUBLE_EQ(same.lines, c.lines * (first + 1) / 2) << engine_name(c.geometry);
            EXPECT_DOUBLE_EQ(same.packet_ns, c.packet_ns * (first + 1) / 2);
        }
        EXPECT_NE(to_text(some).find("the first " + std::to_string(first) + " packets of a flow"),
                  std::string::npos);
        EXPECT_EQ(to_json(some)["first"], first);
    }
    EXPECT_EQ(to_text(plain).find("packets of a flow"), std::string::npos);
    EXPECT_EQ(to_json(plain)["first"], 1);
    // Beyond the largest multiplicity the others remain.
    question.first = 58;
    const Candidates beyond = found(question);
    EXPECT_EQ(beyond.list.size(), plain.list.size());
    EXPECT_NE(to_text(beyond).find("not possible: shbf-x: "), std::string::npos);
}

TEST(Candidates, as_json_are_the_same) {
    const Candidates candidates = found(question_at(1e6));
    const auto json = to_json(candidates);
    ASSERT_EQ(json["candidates"].size(), candidates.list.size());
    for (std::size_t i = 0; i < candidates.list.size(); ++i) {
        const Candidate& c = candidates.list[i];
        EXPECT_EQ(json["candidates"][i]["engine"], engine_name(c.geometry));
        EXPECT_EQ(json["candidates"][i]["bytes"], c.bytes);
        EXPECT_EQ(json["candidates"][i]["false_drop"], c.prediction.false_drop);
    }
    EXPECT_EQ(json["reason"], candidates.reason);
}

// Engines that estimate chances are sized for a part of the bound. The message names all of it.
TEST(Candidates, of_what_no_engine_can_says_so_of_the_bound_that_was_asked_for) {
    SizingRequest question = question_at(1e9);
    question.window = 3600 * kSecond;
    question.max_false_drop = 1e-7;
    const auto refused = find_candidates(question);
    ASSERT_FALSE(refused);
    // The message also blames no single engine.
    EXPECT_EQ(refused.error().context.find("no engine can, for instance "), 0U);
    EXPECT_NE(refused.error().context.find("false-drop rate 1e-07; allowed: at least"),
              std::string::npos)
        << refused.error().context;
}

}  // namespace
}  // namespace unecho::engines
