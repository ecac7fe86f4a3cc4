// SPDX-License-Identifier: BSD-3-Clause
#include "filters/ageing.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace unecho::filter::ageing_test {
namespace {

// Generations of 10 ns, each remembered through two more: a window of 20 ns.
constexpr AgeingSpec kSpec{.window = 20, .length = 10, .retained_generations = 2, .load = 100};

// Advance by time alone, as in captures, and return the generation.
std::uint64_t generation_at(Ageing& ageing, Nanoseconds time) {
    return ageing.advance_to(ageing.published_at(time)).generation;
}

TEST(Ageing, without_early_turns_is_the_published_generation) {
    Ageing ageing(kSpec);
    for (Nanoseconds time = 3; time < 2000; time += time % 7 + 1) {
        ASSERT_EQ(generation_at(ageing, time), time / 10) << time;
        ASSERT_EQ(ageing.state(time).achieved, 20U) << time;
    }
    EXPECT_EQ(ageing.state(2000).shortest, 20U);
    EXPECT_EQ(ageing.state(2000).early_turns, 0U);
}

TEST(Ageing, after_a_silence_skips_all_generations_at_once) {
    Ageing ageing(kSpec);
    EXPECT_EQ(generation_at(ageing, 25), 2U);
    EXPECT_EQ(generation_at(ageing, 1'000'000'000'000'025), 100'000'000'000'002U);
    EXPECT_EQ(ageing.state(0).achieved, 20U);
}

// A turn at 30 would make a generation of 7 ns.
TEST(Ageing, counts_a_generation_from_its_own_early_start) {
    Ageing ageing(kSpec);
    generation_at(ageing, 23);
    EXPECT_EQ(ageing.turn_early().generation, 3U);
    EXPECT_EQ(generation_at(ageing, 32), 3U);
    EXPECT_EQ(generation_at(ageing, 33), 4U);
    EXPECT_EQ(generation_at(ageing, 42), 4U);
    EXPECT_EQ(generation_at(ageing, 43), 5U);
    EXPECT_EQ(ageing.state(43).early_turns, 1U);
}

// Early turns replace those published meanwhile: later generations have their usual length.
TEST(Ageing, after_overload_turns_no_backlog) {
    Ageing ageing(kSpec);
    for (Nanoseconds time = 0; time <= 1000; ++time) {
        generation_at(ageing, time);
        static_cast<void>(ageing.turn_early());
    }
    EXPECT_EQ(ageing.generation(), 1001U);
    for (Nanoseconds time = 1001; time <= 1100; ++time) {
        EXPECT_EQ(generation_at(ageing, time), 1001 + (time - 1000) / 10) << time;
    }
}

TEST(Ageing, achieves_the_time_since_the_newest_generation_forgotten_ended) {
    Ageing ageing(kSpec);
    generation_at(ageing, 1);
    static_cast<void>(ageing.turn_early());  // generation 0 ends at 1
    generation_at(ageing, 4);
    static_cast<void>(ageing.turn_early());  // 1 ends at 4
    EXPECT_EQ(ageing.state(5).achieved, 20U);
    generation_at(ageing, 6);
    static_cast<void>(ageing.turn_early());  // 2 ends at 6, and 0 is forgotten
    EXPECT_EQ(ageing.state(6).achieved, 5U);
    EXPECT_EQ(ageing.state(9).achieved, 8U);
    EXPECT_EQ(ageing.state(30).achieved, 20U);
    EXPECT_EQ(ageing.state(30).shortest, 5U);
    EXPECT_EQ(ageing.state(30).shortest_at, 6U);
    generation_at(ageing, 16);  // 3 ends: 1, which ended at 4, is forgotten
    EXPECT_EQ(ageing.state(16).achieved, 12U);
    EXPECT_EQ(ageing.state(16).shortest, 5U);
}

// A timer's turn that is published late makes a generation longer. The next one counts from there.
TEST(Ageing, with_a_late_word_waits_for_it) {
    Ageing ageing(kSpec);
    EXPECT_EQ(ageing.advance_to({14, 0}).generation, 0U);
    EXPECT_TRUE(ageing.has_pending_turn(1));
    EXPECT_EQ(ageing.advance_to({16, 1}).generation, 1U);
    EXPECT_FALSE(ageing.has_pending_turn(1));
    EXPECT_EQ(ageing.advance_to({23, 2}).generation, 1U);  // packets at 14 were of generation 0
    EXPECT_EQ(ageing.advance_to({24, 2}).generation, 2U);
}

// A worker that was away takes the published turns whose generations have had their length.
TEST(Ageing, that_was_away_adopts_several_words) {
    Ageing ageing(kSpec);
    EXPECT_EQ(ageing.advance_to({9, 0}).generation, 0U);
    EXPECT_EQ(ageing.advance_to({45, 4}).generation, 4U);
    EXPECT_EQ(ageing.state(45).achieved, 20U);
    EXPECT_EQ(ageing.advance_to({49, 9}).generation, 4U);  // more turns than time has passed
    EXPECT_EQ(ageing.advance_to({50, 9}).generation, 5U);
}

TEST(Ageing, with_a_clock_that_steps_back_stands_still) {
    Ageing ageing(kSpec);
    generation_at(ageing, 25);
    const Moment moment = ageing.advance_to({7, 2});
    EXPECT_EQ(moment.now, 25U);
    EXPECT_EQ(moment.generation, 2U);
}

TEST(Ageing, has_room_for_the_rest_of_its_load) {
    Ageing ageing(kSpec);
    EXPECT_EQ(ageing.room(0), 100U);
    EXPECT_EQ(ageing.room(99), 1U);
    EXPECT_EQ(ageing.room(100), 0U);
    EXPECT_EQ(ageing.room(105), 0U);
}

TEST(Ageing, that_cannot_turn_counts_each_generation_once) {
    Ageing ageing(kSpec);
    ageing.hold();
    ageing.hold();
    EXPECT_EQ(ageing.state(0).held_turns, 1U);
    generation_at(ageing, 10);
    ageing.hold();
    EXPECT_EQ(ageing.state(0).held_turns, 2U);
}

// Compared with a list of each generation's insertions.
TEST(Ageing, knows_the_fullest_of_the_generations_that_are_remembered) {
    std::mt19937_64 random(7);
    Ageing ageing(kSpec);
    std::vector<std::uint64_t> took{0};
    const auto expected = [&] {
        const std::size_t kept = std::min<std::size_t>(took.size(), kSpec.retained_generations + 1);
        return *std::max_element(took.end() - static_cast<std::ptrdiff_t>(kept), took.end());
    };
    Nanoseconds time = 0;
    for (unsigned i = 0; i < 2'000; ++i) {
        time += random() % 100 == 0 ? 57 : random() % 5;
        const std::uint64_t now =
            ageing.advance_to(ageing.published_at(time), took.back()).generation;
        took.resize(std::max<std::size_t>(took.size(), now + 1));
        took.back() += random() % 9;
        if (random() % 20 == 0) {
            took.resize(ageing.turn_early(took.back()).generation + 1);
        }
        ASSERT_EQ(ageing.fill(took.back()), expected()) << i;
    }
    EXPECT_GT(ageing.early_turns(), 50U);
    EXPECT_GT(ageing.generation(), 300U);
}

// The end of the forgotten generation is known for the largest number of generations.
TEST(Ageing, of_the_most_generations_knows_when_each_ended) {
    Ageing ageing(
        {.window = 1270, .length = 10, .retained_generations = kMaxRetainedGenerations, .load = 1});
    for (Nanoseconds time = 1; time <= 300; ++time) {
        generation_at(ageing, time);
        static_cast<void>(ageing.turn_early());
        const Nanoseconds forgotten =
            time > kMaxRetainedGenerations ? time - kMaxRetainedGenerations : 0;
        ASSERT_EQ(ageing.state(time).achieved, forgotten == 0 ? 1270 : time - forgotten) << time;
    }
}

TEST(AchievedWindow, is_the_configured_one_until_something_is_forgotten) {
    AchievedWindow kept(50);
    EXPECT_EQ(kept.at(7), 50U);
    kept.forget(10, 100);
    EXPECT_EQ(kept.at(100), 50U);
    EXPECT_EQ(kept.shortest(), 50U);
    kept.forget(70, 100);
    EXPECT_EQ(kept.at(100), 30U);
    EXPECT_EQ(kept.at(115), 45U);
    EXPECT_EQ(kept.shortest(), 30U);
    EXPECT_EQ(kept.shortest_at(), 100U);
    kept.forget(60, 110);  // older than what is already forgotten
    EXPECT_EQ(kept.at(110), 40U);
    EXPECT_EQ(kept.shortest(), 30U);
}

TEST(AchievedWindow, of_a_filter_is_that_of_its_weakest_part) {
    WindowState state{.achieved = 45, .shortest = 40, .shortest_at = 7};
    AchievedWindow weaker(50);
    shorten(state, weaker, 100);
    EXPECT_EQ(state.achieved, 45U);
    EXPECT_EQ(state.shortest_at, 7U);
    weaker.forget(70, 100);
    shorten(state, weaker, 105);
    EXPECT_EQ(state.achieved, 35U);
    EXPECT_EQ(state.shortest, 30U);
    EXPECT_EQ(state.shortest_at, 100U);
}

}  // namespace
}  // namespace unecho::filter::ageing_test
