// SPDX-License-Identifier: BSD-3-Clause
#include "base/counters.h"

#include <gtest/gtest.h>

namespace unecho {
namespace {

struct Block {
    std::uint64_t sum = 0;
    std::uint64_t most = 0;
    std::uint64_t least = 0;
    std::uint64_t least_at = 0;
};
constexpr CounterRows<Block, 4> kRows{{
    {&Block::sum, "sum", CounterUnit::kCount, CounterMerge::kSum, "a sum"},
    {&Block::most, "most", CounterUnit::kNanoseconds, CounterMerge::kMax, "the most"},
    {&Block::least, "least", CounterUnit::kNanoseconds, CounterMerge::kMin, "the least"},
    {&Block::least_at, "least_at", CounterUnit::kNanoseconds, CounterMerge::kWithPrevious, "when"},
}};
static_assert(describes_every_counter(kRows));

consteval CounterRows<Block, 4> with(std::size_t i, CounterRow<Block> row) {
    CounterRows<Block, 4> out = kRows;
    out[i] = row;
    return out;
}

// A static_assert beside each block of counters refuses rows like these.
TEST(CounterRows, describe_each_word_once_with_a_name_and_a_help_text) {
    constexpr auto kUnit = CounterUnit::kCount;
    constexpr auto kFold = CounterMerge::kSum;
    EXPECT_FALSE(describes_every_counter(with(1, {&Block::sum, "again", kUnit, kFold, "twice"})));
    EXPECT_FALSE(
        describes_every_counter(with(1, {&Block::most, "sum", kUnit, kFold, "a name twice"})));
    EXPECT_FALSE(describes_every_counter(with(1, {&Block::most, "most", kUnit, kFold, ""})));
    EXPECT_FALSE(describes_every_counter(with(1, {&Block::most, "", kUnit, kFold, "nameless"})));
    EXPECT_FALSE(describes_every_counter(
        with(0, {&Block::sum, "sum", kUnit, CounterMerge::kWithPrevious, "with nothing"})));
    EXPECT_FALSE(describes_every_counter(CounterRows<Block, 3>{{kRows[0], kRows[1], kRows[2]}}));
}

TEST(CounterRows, fold_as_they_say) {
    Block all{.least = 100};
    fold(kRows, {1, 5, 90, 7}, all);
    fold(kRows, {2, 9, 40, 8}, all);
    fold(kRows, {4, 3, 60, 9}, all);
    EXPECT_EQ(all.sum, 7U);
    EXPECT_EQ(all.most, 9U);
    EXPECT_EQ(all.least, 40U);
    EXPECT_EQ(all.least_at, 8U);
}

TEST(CounterRows, name_the_unit_of_times) {
    EXPECT_EQ(json_name(kRows[0]), "sum");
    EXPECT_EQ(json_name(kRows[1]), "most_ns");
}

}  // namespace
}  // namespace unecho
