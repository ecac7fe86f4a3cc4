// SPDX-License-Identifier: BSD-3-Clause
#include "filters/window/segmented/btbf.h"

#include <array>
#include <cstring>
#include <numeric>

#include <gtest/gtest.h>

#include "support/filter_memory.h"

namespace unecho::filter::btbf_test {
namespace {

template <typename Filter, typename Params>
struct Owner {
    explicit Owner(const Params& p)
        : params(p), memory(Filter::bytes(p)), filter(p, memory.span()) {}
    Params params;
    test::FilterMemory memory;
    Filter filter;
};

Owner<Btbf, BtbfParams> counted(const BtbfSpec& spec) {
    return Owner<Btbf, BtbfParams>(*BtbfParams::make(spec));
}

Owner<TimedBtbf, TimedBtbfParams> timed(const TimedBtbfSpec& spec) {
    return Owner<TimedBtbf, TimedBtbfParams>(*TimedBtbfParams::make(spec));
}

std::string message(const BtbfSpec& spec) {
    const auto params = BtbfParams::make(spec);
    return params ? "valid" : params.error().context;
}

std::string message(const TimedBtbfSpec& spec) {
    const auto params = TimedBtbfParams::make(spec);
    return params ? "valid" : params.error().context;
}

TEST(btbf_params, limits_are_named) {
    EXPECT_EQ(message(BtbfSpec{.w = 1, .k = 1, .m = 1, .bpt = 2}), "valid");
    EXPECT_EQ(message(BtbfSpec{.w = 100, .B = 8, .k = 32, .m = 77, .bpt = 16}), "valid");
    EXPECT_EQ(message(BtbfSpec{.w = 1, .k = 0, .m = 1, .bpt = 2}), "btbf: k = 0; allowed: 1 to 32");
    EXPECT_EQ(message(BtbfSpec{.w = 1, .k = 33, .m = 1, .bpt = 2}),
              "btbf: k = 33; allowed: 1 to 32");
    EXPECT_EQ(message(BtbfSpec{.w = 1, .k = 1, .m = 1, .bpt = 1}),
              "btbf: bpt = 1 bits; allowed: 2 to 16");
    EXPECT_EQ(message(BtbfSpec{.w = 1, .k = 1, .m = 1, .bpt = 17}),
              "btbf: bpt = 17 bits; allowed: 2 to 16");
    EXPECT_EQ(message(BtbfSpec{.w = 1, .k = 1, .m = 0, .bpt = 4}),
              "btbf: m = 0 timers; allowed: 1 to 140737488355328");
    EXPECT_EQ(message(BtbfSpec{.w = 1, .k = 1, .m = ~std::uint64_t{0}, .bpt = 4}),
              "btbf: m = 18446744073709551615 timers; allowed: 1 to 140737488355328");
    EXPECT_EQ(message(BtbfSpec{.w = 0, .k = 1, .m = 1, .bpt = 2}),
              "btbf: w = 0 insertions; allowed: 1 to 2^62");
    EXPECT_EQ(message(BtbfSpec{.w = ~std::uint64_t{0}, .k = 1, .m = 1, .bpt = 2}),
              "btbf: w = 18446744073709551615 insertions; allowed: 1 to 2^62");
    EXPECT_EQ(message(BtbfSpec{.w = 9, .B = 0, .k = 1, .m = 1, .bpt = 2}),
              "btbf: B = 0 insertions; allowed: 1 to w, that is 9");
    EXPECT_EQ(message(BtbfSpec{.w = 9, .B = 10, .k = 1, .m = 1, .bpt = 2}),
              "btbf: B = 10 insertions; allowed: 1 to w, that is 9");
}

// A timer represents ages 0 to ceil(w / B) + 1 + P, or expired.
TEST(btbf_params, blocks_and_padding_must_fit_the_bits) {
    EXPECT_EQ(message(BtbfSpec{.w = 13, .k = 1, .m = 1, .bpt = 4}), "valid");
    EXPECT_EQ(message(BtbfSpec{.w = 14, .k = 1, .m = 1, .bpt = 4}),
              "btbf: a window of 14 blocks with bpt = 4; allowed: at most 13 blocks");
    EXPECT_EQ(message(BtbfSpec{.w = 27, .B = 2, .k = 1, .m = 1, .bpt = 4}),
              "btbf: a window of 14 blocks with bpt = 4; allowed: at most 13 blocks");
    EXPECT_EQ(message(BtbfSpec{.w = 10, .k = 1, .m = 1, .bpt = 4, .P = 3}), "valid");
    EXPECT_EQ(message(BtbfSpec{.w = 10, .k = 1, .m = 1, .bpt = 4, .P = 4}),
              "btbf: P = 4 with bpt = 4 and a window of 10 blocks; allowed: 0 to 3");
    EXPECT_EQ(BtbfParams::make({.w = 10, .k = 1, .m = 1, .bpt = 4})->P(), 3u);
    EXPECT_EQ(BtbfParams::make({.w = 10, .k = 1, .m = 1, .bpt = 4, .P = 1})->P(), 1u);
}

TEST(btbf_params, visits_cover_all_timers_in_the_padding) {
    const auto visits = [](const BtbfSpec& spec) { return BtbfParams::make(spec)->visits(); };
    EXPECT_EQ(visits({.w = 10, .B = 2, .k = 1, .m = 12, .bpt = 4, .P = 2}), 2u);
    EXPECT_EQ(visits({.w = 10, .B = 2, .k = 1, .m = 13, .bpt = 4, .P = 2}), 3u);
    EXPECT_EQ(visits({.w = 10, .B = 2, .k = 1, .m = 1, .bpt = 4, .P = 2}), 1u);
}

TEST(timed_btbf_params, limits_are_named) {
    EXPECT_EQ(message(TimedBtbfSpec{.l = 1, .k = 1, .m = 1, .bpt = 2}), "valid");
    EXPECT_EQ(message(TimedBtbfSpec{.l = 13, .k = 32, .m = 1, .bpt = 4}), "valid");
    EXPECT_EQ(message(TimedBtbfSpec{.l = 0, .k = 1, .m = 1, .bpt = 2}),
              "btbf: l = 0; allowed: 1 or more");
    EXPECT_EQ(message(TimedBtbfSpec{.l = 14, .k = 1, .m = 1, .bpt = 4}),
              "btbf: a window of 14 blocks with bpt = 4; allowed: at most 13 blocks");
    EXPECT_EQ(message(TimedBtbfSpec{.l = ~0U, .k = 1, .m = 1, .bpt = 16}),
              "btbf: a window of 4294967295 blocks with bpt = 16; allowed: at most 65533 blocks");
    EXPECT_EQ(message(TimedBtbfSpec{.l = 12, .k = 1, .m = 1, .bpt = 4, .P = 2}),
              "btbf: P = 2 with bpt = 4 and a window of 12 blocks; allowed: 0 to 1");
    EXPECT_EQ(message(TimedBtbfSpec{.l = 2, .k = 99, .m = 1, .bpt = 4}),
              "btbf: k = 99; allowed: 1 to 32");
    EXPECT_EQ(TimedBtbfParams::make({.l = 2, .k = 1, .m = 9, .bpt = 3})->P(), 3u);
    EXPECT_EQ(TimedBtbfParams::make({.l = 2, .k = 1, .m = 9, .bpt = 3})->visits(), 3u);
    EXPECT_EQ(TimedBtbfParams::make({.l = 2, .k = 1, .m = 8, .bpt = 3})->visits(), 2u);
}

TEST(btbf, reading_tells_the_age_and_how_many_timers_agree) {
    auto i = counted({.w = 20, .B = 4, .k = 6, .m = 1'000'003, .bpt = 5});
    TimerReading reading = i.filter.read(42);
    EXPECT_EQ(reading.age, kExpiredAge);
    EXPECT_EQ(reading.c, 6u);
    EXPECT_EQ(reading.r, 6u);
    i.filter.insert(42);
    EXPECT_EQ(i.filter.read(42).age, 0u);
    EXPECT_EQ(i.filter.most_likely_age(i.filter.read(42)), 0u);
    for (Digest other = 100; other < 109; ++other) {
        i.filter.insert(other);
    }
    reading = i.filter.read(42);
    EXPECT_EQ(reading.age, 2u);
    EXPECT_EQ(reading.c, 6u);
    // 42 was inserted 9 insertions ago, at the start of its block. After 10 insertions in all, the
    // block of age 2 is 6 to 9 insertions back.
    EXPECT_EQ(i.filter.most_likely_age(reading), 6u);
}

// With few timers positions coincide: r counts each timer once, c those of the greatest age.
TEST(btbf, reading_counts_distinct_timers) {
    auto i = counted({.w = 20, .k = 32, .m = 3, .bpt = 5});
    EXPECT_EQ(i.filter.read(42).r, 3u);
    EXPECT_EQ(i.filter.read(42).c, 3u);
    auto one = counted({.w = 20, .k = 1, .m = 8, .bpt = 5});
    EXPECT_EQ(one.filter.read(42).r, 1u);
}

// Another digest that shares one of two timers makes that one young again.
TEST(btbf, reading_counts_the_timers_of_the_oldest_age) {
    unsigned tried = 0;
    for (Digest first = 0; first < 12; ++first) {
        auto i = counted({.w = 20, .k = 2, .m = 97, .bpt = 5});
        i.filter.insert(first);
        if (i.filter.read(first).r == 1) {
            continue;  // both hashes name one timer
        }
        ++tried;
        Digest other = 100;
        const auto shares_one = [&] {
            const TimerReading reading = i.filter.read(other);
            return reading.age == kExpiredAge && reading.c == 1 && reading.r == 2;
        };
        while (!shares_one()) {
            ASSERT_LT(++other, 10'000u);
        }
        i.filter.insert(other);
        const TimerReading reading = i.filter.read(first);
        EXPECT_EQ(reading.age, 2u);
        EXPECT_EQ(reading.c, 1u);
        EXPECT_EQ(reading.r, 2u);
        EXPECT_EQ(i.filter.read(other).age, 1u);
        EXPECT_EQ(i.filter.read(other).c, 2u);
    }
    EXPECT_GE(tried, 8u);
}

TEST(btbf, reading_of_mixed_ages_is_that_of_the_oldest) {
    auto i = counted({.w = 2000, .B = 10, .k = 2, .m = 64, .bpt = 8, .P = 0});
    for (Digest d = 0; d < 500; ++d) {
        i.filter.insert(d);
        const TimerReading reading = i.filter.read(d / 2);
        ASSERT_GE(reading.c, 1u);
        ASSERT_LE(reading.c, reading.r);
        ASSERT_LE(reading.r, 2u);
        ASSERT_EQ(i.filter.query(d / 2), reading.age <= i.filter.oldest_echo());
    }
}

TEST(btbf, decision_follows_the_table) {
    auto i = counted({.w = 20, .B = 4, .k = 2, .m = 1'000'003, .bpt = 5});
    // Ages 0 and 1; c = 1, 2 each.
    const std::array<std::uint32_t, 8> limits{0, ~0U, 0, 3, 0, ~0U, 1, ~0U};
    const DecisionTable table(limits, 2);
    EXPECT_FALSE(i.filter.decide_and_insert(42, table));  // expired
    EXPECT_FALSE(i.filter.decide_and_insert(42, table));  // age 0 at b = 1
    EXPECT_FALSE(i.filter.decide_and_insert(42, table));  // ... 2
    EXPECT_TRUE(i.filter.decide_and_insert(42, table));   // ... 3
    EXPECT_EQ(i.filter.counters().insertions, 3u);
    i.filter.insert(1);
    EXPECT_TRUE(i.filter.decide_and_insert(42, table));  // age 1 at b = 0
    i.filter.insert(2);
    EXPECT_FALSE(i.filter.decide_and_insert(42, table));  // age 1 at b = 1
    EXPECT_FALSE(DecisionTable().echo({0, 1, 1}, 0));
}

TEST(btbf, decided_echoes_refresh_where_the_policy_says_so) {
    const std::array<std::uint32_t, 2> always{~0U, ~0U};
    const DecisionTable table(always, 1);
    auto by_time = timed({.l = 2, .k = 1, .m = 99, .bpt = 3, .policy = EchoPolicy::kRefresh});
    by_time.filter.insert(42);
    EXPECT_TRUE(by_time.filter.decide_and_insert(42, table));
    EXPECT_EQ(by_time.filter.counters().insertions, 2u);
    auto by_count =
        counted({.w = 20, .B = 20, .k = 1, .m = 99, .bpt = 5, .policy = EchoPolicy::kRefresh});
    by_count.filter.insert(42);
    EXPECT_TRUE(by_count.filter.decide_and_insert(42, table));
    EXPECT_EQ(by_count.filter.counters().insertions, 2u);
}

TEST(btbf, burst_finds_echoes_within_itself) {
    auto i = counted({.w = 200, .k = 4, .m = 4096, .bpt = 8});
    const Digest digests[] = {1, 2, 1, 3, 2, 1};
    EXPECT_EQ(i.filter.test_and_insert_burst(digests), 0b110100u);
    EXPECT_EQ(i.filter.test_and_insert_burst({}), 0u);
    std::array<Digest, kMaxBurst> full;
    std::iota(full.begin(), full.end(), 100);
    EXPECT_EQ(i.filter.test_and_insert_burst(full), 0u);
    EXPECT_EQ(i.filter.test_and_insert_burst(full), ~std::uint64_t{0});
}

// A silence zeroes the memory once, and not again while nothing is inserted.
TEST(timed_btbf, long_silence_leaves_zeroed_memory) {
    auto i = timed({.l = 2, .k = 4, .m = 100, .bpt = 3});
    for (Digest d = 0; d < 50; ++d) {
        i.filter.insert(d);
    }
    i.filter.advance({.generation = 3});
    const auto timers = i.filter.params().timers();
    const auto memory =
        i.memory.span().last(timers.bytes()).first(timers.timer_bytes());  // the timers only
    EXPECT_TRUE(std::all_of(memory.begin(), memory.end(),
                            [](std::byte byte) { return byte == std::byte{0}; }));
    memory.back() = std::byte{1};
    i.filter.advance({.generation = 9});
    EXPECT_EQ(memory.back(), std::byte{1});
    i.filter.insert(1);
    i.filter.advance({.generation = 12});
    EXPECT_EQ(memory.back(), std::byte{0});
}

TEST(timed_btbf, decision_uses_insertions_of_the_generation) {
    auto i = timed({.l = 2, .k = 1, .m = 1'000'003, .bpt = 3});
    const std::array<std::uint32_t, 4> limits{0, ~0U, 2, ~0U};
    const DecisionTable table(limits, 1);
    i.filter.insert(42);
    i.filter.prefetch(42);
    EXPECT_FALSE(i.filter.decide_and_insert(42, table));
    i.filter.advance({.generation = 1});
    EXPECT_TRUE(i.filter.decide_and_insert(42, table));
    i.filter.insert(1);
    EXPECT_TRUE(i.filter.decide_and_insert(42, table));
    i.filter.insert(2);
    EXPECT_FALSE(i.filter.decide_and_insert(42, table));
    EXPECT_EQ(i.filter.read(42).age, 0u);
}

}  // namespace
}  // namespace unecho::filter::btbf_test
