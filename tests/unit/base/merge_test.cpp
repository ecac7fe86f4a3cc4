// SPDX-License-Identifier: BSD-3-Clause
#include "base/merge.h"

#include <optional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace unecho {
namespace {

using Times = std::vector<Nanoseconds>;

// Return when each packet is due.
Times due(const std::vector<Nanoseconds>& stamps, Nanoseconds jump = 100) {
    MergeClock clock(jump);
    Times out;
    for (std::size_t i = 0; i < stamps.size(); ++i) {
        out.push_back(clock.due(stamps[i], [&](std::size_t ahead) {
            return i + ahead < stamps.size() ? std::optional(stamps[i + ahead]) : std::nullopt;
        }));
    }
    return out;
}

TEST(MergeClock, takes_stamps_as_they_are) {
    const Times stamps{1000, 1100, 1050, 1300, 1500, 900, 950};
    EXPECT_EQ(due(stamps, kNoEpochs), stamps);
    EXPECT_EQ(due({1000, 5000, 5001, 9000}), (Times{1000, 5000, 5001, 9000})) << "a silence";
    EXPECT_EQ(due({1000, 1150, 1050}), (Times{1000, 1150, 1050})) << "back by no more than a jump";
}

TEST(MergeClock, does_not_wait_for_stamps_that_run_ahead_and_come_back) {
    EXPECT_EQ(due({9000, 1000, 1010}), (Times{1000, 1000, 1010}));
    EXPECT_EQ(due({1000, 9000, 9001, 1010, 1020}), (Times{1000, 1010, 1010, 1010, 1020}));
    EXPECT_EQ(due({1000, 9000, 5000, 1010}), (Times{1000, 5000, 1010, 1010})) << "twice";
    EXPECT_EQ(due({1000, 1101, 1000}), (Times{1000, 1000, 1000}));
}

TEST(MergeClock, looks_a_bounded_way_ahead) {
    for (const unsigned more : {0U, 1U}) {
        Times stamps(MergeClock::kLookAhead + more, 9000);
        stamps.push_back(1000);
        EXPECT_EQ(due(stamps).front(), more == 0 ? 1000U : 9000U);
        EXPECT_EQ(due(stamps).back(), 1000U);
    }
}

// By definition the next source has the least time, and is the first of equal ones. Sources leave
// at any time and return.
TEST(MergeHeap, of_any_number_of_sources_is_always_the_least) {
    std::mt19937_64 random(1);
    for (const std::size_t count : {1U, 2U, 3U, 7U, 64U, 100U}) {
        std::vector<MergeHead> memory(count);
        MergeHeap order(memory);
        std::vector<std::optional<Nanoseconds>> due(count);
        for (unsigned step = 0; step < 3000; ++step) {
            for (std::uint32_t i = 0; i < count; ++i) {
                if (!due[i] && random() % 4 == 0) {
                    due[i] = 100 + random() % 50;
                    order.add({*due[i], i});
                }
            }
            std::optional<std::uint32_t> least;
            for (std::uint32_t i = 0; i < count; ++i) {
                if (due[i] && (!least || *due[i] < *due[*least])) {
                    least = i;
                }
            }
            ASSERT_EQ(order.empty(), !least);
            if (!least) {
                continue;
            }
            ASSERT_EQ(order.first().source, *least);
            ASSERT_EQ(order.first().due, *due[*least]);
            if (random() % 3 == 0) {
                due[*least].reset();
                order.remove_first();
            } else {
                due[*least] = *due[*least] + random() % 30 - random() % 2;
                order.put_off_first(*due[*least]);
            }
        }
    }
}

}  // namespace
}  // namespace unecho
