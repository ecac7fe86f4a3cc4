// SPDX-License-Identifier: BSD-3-Clause
#include "captures/memory_budget.h"

#include <gtest/gtest.h>

namespace {

using namespace unecho;
using capture::MemoryBudget;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

TEST(MemoryBudget, few_inputs_have_four_mebibytes_each_and_the_largest_pieces) {
    MemoryBudget one(256 * kMiB, 28 * kMiB);
    EXPECT_EQ(one.least_memory(1), 32 * kMiB);
    EXPECT_EQ(one.least_memory(2), 36 * kMiB);
    EXPECT_EQ(one.reserve({.inputs = 1}), 4 * kMiB);
    EXPECT_EQ(one.reserve({.inputs = 16}), 64 * kMiB);
    EXPECT_EQ(one.piece_for(16), capture::kMaxPiece);
    EXPECT_EQ(one.piece_for(57), capture::kMaxPiece);
}

TEST(MemoryBudget, many_inputs_have_a_quarter_in_smaller_pieces) {
    MemoryBudget many(256 * kMiB, 28 * kMiB);
    EXPECT_LE(many.least_memory(1500), 38 * kMiB);
    EXPECT_EQ(many.reserve({.inputs = 1500, .closed = 1500, .packed = 0, .largest = kMiB}),
              64 * kMiB);
    const std::size_t piece = many.piece_for(1000);
    EXPECT_LE(1000 * capture::bytes_of_input(piece), 63 * kMiB);
    EXPECT_GT(1000 * capture::bytes_of_input(2 * piece), 63 * kMiB);
    EXPECT_EQ(many.piece_for(100'000), capture::kMinPiece);
}

// The amount that the error names must be right: with that much memory the files can be opened.
TEST(MemoryBudget, memory_that_is_named_is_enough_for_all_at_once) {
    constexpr std::uint64_t kPacked = 110'000;
    const auto open_all = [](std::uint64_t memory) {
        MemoryBudget budget(memory, 28 * kMiB);
        budget.reserve({.inputs = 1500, .closed = 1500, .packed = 1500 * kPacked, .largest = kMiB});
        const std::uint64_t each =
            capture::bytes_of_input(budget.piece_for(1500, 1500 * kPacked)) + kPacked;
        for (unsigned i = 0; i < 1500; ++i) {
            if (!budget.take(each)) {
                return budget.refusal("x.pcap.gz", each).context;
            }
            budget.count_in();
        }
        return std::string();
    };
    EXPECT_EQ(open_all(256 * kMiB),
              "x.pcap.gz: 437 inputs have packets of the same time, and there is no memory to read "
              "one more of them; --memory 868MiB is enough for all 1,500");
    EXPECT_NE(open_all(860 * kMiB), "");
    EXPECT_EQ(open_all(868 * kMiB), "");
}

TEST(MemoryBudget, one_input_that_needs_much_gets_it_if_it_is_there) {
    MemoryBudget budget(100 * kMiB, 28 * kMiB);
    ASSERT_TRUE(budget.take(60 * kMiB));
    EXPECT_FALSE(budget.take(20 * kMiB));
    EXPECT_EQ(budget.refusal("x.zst", 20 * kMiB).context,
              "x.zst: needs 20 MiB of memory to be read, beside 60 MiB of other inputs; allowed "
              "here: --memory 109MiB or more");
    EXPECT_EQ(budget.reserve({.inputs = 1}), 61 * kMiB);
    EXPECT_FALSE(budget.take(1));
    budget.give_back(kMiB);
    EXPECT_TRUE(budget.take(kMiB));
}

}  // namespace
