// SPDX-License-Identifier: BSD-3-Clause
#include "capture/allowance.h"

#include <gtest/gtest.h>

namespace {

using namespace unecho;
using capture::Allowance;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

TEST(Allowance, few_inputs_have_four_mebibytes_each_and_the_largest_pieces) {
    Allowance one(256 * kMiB, 28 * kMiB);
    EXPECT_EQ(one.least_memory(1), 32 * kMiB);
    EXPECT_EQ(one.least_memory(2), 36 * kMiB);
    EXPECT_EQ(one.reserve({.inputs = 1}), 4 * kMiB);
    EXPECT_EQ(one.reserve({.inputs = 16}), 64 * kMiB);
    EXPECT_EQ(one.piece_for(16), capture::kMostPiece);
    EXPECT_EQ(one.piece_for(57), capture::kMostPiece);
}

TEST(Allowance, many_inputs_have_a_quarter_in_smaller_pieces) {
    Allowance many(256 * kMiB, 28 * kMiB);
    EXPECT_LE(many.least_memory(1500), 38 * kMiB);
    EXPECT_EQ(many.reserve({.inputs = 1500, .closed = 1500, .packed = 0, .largest = kMiB}),
              64 * kMiB);
    const std::size_t piece = many.piece_for(1000);
    EXPECT_LE(1000 * capture::bytes_of_input(piece), 63 * kMiB);
    EXPECT_GT(1000 * capture::bytes_of_input(2 * piece), 63 * kMiB);
    EXPECT_EQ(many.piece_for(100'000), capture::kLeastPiece);
}

// What says how much is needed must be right: with that much it goes.
TEST(Allowance, memory_that_is_named_is_enough_for_all_at_once) {
    constexpr std::uint64_t kPacked = 110'000;
    const auto open_all = [](std::uint64_t memory) {
        Allowance allowance(memory, 28 * kMiB);
        allowance.reserve(
            {.inputs = 1500, .closed = 1500, .packed = 1500 * kPacked, .largest = kMiB});
        const std::uint64_t each =
            capture::bytes_of_input(allowance.piece_for(1500, 1500 * kPacked)) + kPacked;
        for (unsigned i = 0; i < 1500; ++i) {
            if (!allowance.take(each)) {
                return allowance.refusal("x.pcap.gz", each).context;
            }
            allowance.count_in();
        }
        return std::string();
    };
    EXPECT_EQ(open_all(256 * kMiB),
              "x.pcap.gz: 437 inputs have packets of the same time, and there is no memory to read "
              "one more of them; --memory 868MiB is enough for all 1,500");
    EXPECT_NE(open_all(860 * kMiB), "");
    EXPECT_EQ(open_all(868 * kMiB), "");
}

TEST(Allowance, one_input_that_needs_much_gets_it_if_it_is_there) {
    Allowance allowance(100 * kMiB, 28 * kMiB);
    ASSERT_TRUE(allowance.take(60 * kMiB));
    EXPECT_FALSE(allowance.take(20 * kMiB));
    EXPECT_EQ(allowance.refusal("x.zst", 20 * kMiB).context,
              "x.zst: needs 20MiB of memory to be read, beside 60MiB of other inputs; allowed "
              "here: --memory 109MiB or more");
    EXPECT_EQ(allowance.reserve({.inputs = 1}), 61 * kMiB);
    EXPECT_FALSE(allowance.take(1));
    allowance.give_back(kMiB);
    EXPECT_TRUE(allowance.take(kMiB));
}

}  // namespace
