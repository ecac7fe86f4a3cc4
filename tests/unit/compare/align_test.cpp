// SPDX-License-Identifier: BSD-3-Clause
#include "captures/compare/paths/align.h"

#include <algorithm>
#include <optional>
#include <random>

#include <gtest/gtest.h>

#include "support/seed.h"

namespace unecho::compare {
namespace {

// The cost of the best alignment in order, by trying all.
std::int64_t least_cost(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b,
                        std::int64_t window, std::size_t i = 0, std::size_t j = 0) {
    const std::int64_t alone = window / 2 + 1;
    if (i == a.size() || j == b.size()) {
        return static_cast<std::int64_t>(a.size() - i + b.size() - j) * alone;
    }
    const std::int64_t least =
        std::min(least_cost(a, b, window, i + 1, j), least_cost(a, b, window, i, j + 1)) + alone;
    const std::int64_t apart = std::abs(b[j] - a[i]);
    return apart > window ? least : std::min(least, apart + least_cost(a, b, window, i + 1, j + 1));
}

class Alignment : public testing::Test {
  protected:
    // Align looks at these times; return the matches as indices.
    std::vector<Match> align(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b,
                             std::int64_t window, std::int64_t offset = 0) {
        const std::uint64_t most = std::max<std::size_t>({a.size(), b.size(), 1});
        looks_ = std::move(*LookStore::make(2, most, false));
        std::array<std::vector<LookIndex>, 2> indices;
        for (std::size_t input = 0; input < 2; ++input) {
            for (const std::int64_t time : input == 0 ? a : b) {
                indices.at(input).push_back(
                    static_cast<LookIndex>(input * most + looks_->count_of(input)));
                Look look;
                look.time = static_cast<Nanoseconds>(1'000'000 + time);
                looks_->add(input, look, 0);
            }
        }
        std::vector<Match> matches;
        ClockLine line;
        line.base = offset;
        Aligner(*looks_, line, static_cast<Nanoseconds>(window))
            .align(indices[0], indices[1], matches);
        return matches;
    }
    std::optional<LookStore> looks_;
};

TEST_F(Alignment, a_missing_look_does_not_shift_the_others) {
    const std::vector<Match> matches = align({0, 100, 200, 300}, {1, 201, 301}, 1000);
    ASSERT_EQ(matches.size(), 3U);
    for (const Match& match : matches) {
        EXPECT_EQ(match.difference, 1);
    }
}

TEST_F(Alignment, all_looks_match_if_they_can_although_others_are_nearer) {
    EXPECT_EQ(align({0, 40, 80, 120}, {50, 90, 130, 170}, 1000).size(), 4U);
}

TEST_F(Alignment, the_window_and_the_offset_count) {
    EXPECT_EQ(align({0}, {100}, 100).size(), 1U);
    EXPECT_EQ(align({0}, {101}, 100).size(), 0U);
    EXPECT_EQ(align({0}, {5000}, 100, 4950).size(), 1U);
    EXPECT_EQ(align({5000}, {0}, 100, -4950).size(), 1U);
}

TEST_F(Alignment, is_the_best_of_all) {
    SCOPED_TRACE(test::seed_note());
    std::mt19937_64 draw(test::seed());
    for (unsigned round = 0; round < 2000; ++round) {
        std::vector<std::int64_t> a(draw() % 6);
        std::vector<std::int64_t> b(draw() % 6);
        for (std::vector<std::int64_t>* const side : {&a, &b}) {
            for (std::int64_t& time : *side) {
                time = static_cast<std::int64_t>(draw() % 300);
            }
            std::sort(side->begin(), side->end());
        }
        const auto window = static_cast<std::int64_t>(draw() % 100);
        const std::vector<Match> matches = align(a, b, window);
        std::int64_t cost =
            static_cast<std::int64_t>(a.size() + b.size() - 2 * matches.size()) * (window / 2 + 1);
        for (const Match& match : matches) {
            cost += std::abs(match.difference);
        }
        EXPECT_EQ(cost, least_cost(a, b, window));
    }
}

TEST_F(Alignment, thousands_of_equal_packets_are_aligned_in_blocks) {
    std::vector<std::int64_t> a;
    std::vector<std::int64_t> b;
    for (std::int64_t i = 0; i < 5000; ++i) {
        a.push_back(i * 100);
        if (i % 50 != 10) {
            b.push_back(i * 100 + 7);
        }
    }
    const std::vector<Match> matches = align(a, b, 40);
    EXPECT_EQ(matches.size(), b.size());
    for (const Match& match : matches) {
        EXPECT_EQ(match.difference, 7);
    }
}

TEST_F(Alignment, transmissions_may_follow_each_other_faster_than_they_arrive) {
    std::vector<std::int64_t> a;
    std::vector<std::int64_t> b;
    for (std::int64_t i = 0; i < 5000; ++i) {
        a.push_back(i * 10);
        b.push_back(i * 10 + 1000);
    }
    const std::vector<Match> matches = align(a, b, 1'000'000);
    EXPECT_EQ(matches.size(), a.size());
    for (const Match& match : matches) {
        EXPECT_EQ(match.difference, 1000);
    }
}

TEST_F(Alignment, sides_that_do_not_overlap_have_no_matches) {
    std::vector<std::int64_t> early(3000, 0);
    std::vector<std::int64_t> late(3000, 100'000);
    EXPECT_TRUE(align(early, late, 10).empty());
    EXPECT_TRUE(align(late, early, 10).empty());
    early.push_back(100'000);
    EXPECT_EQ(align(early, late, 10).size(), 1U);
}

}  // namespace
}  // namespace unecho::compare
