// SPDX-License-Identifier: BSD-3-Clause
#include "dedup/pipeline/bits.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace unecho::pipeline {
namespace {

constexpr std::uint64_t kAll = ~std::uint64_t{0};

std::vector<unsigned> positions_of(std::uint64_t mask) {
    std::vector<unsigned> out;
    for (unsigned i = 0; i < 64; ++i) {
        if ((mask >> i & 1) != 0) {
            out.push_back(i);
        }
    }
    return out;
}

TEST(FirstBits, of_each_count_are_that_many_low_ones) {
    EXPECT_EQ(first_bits(0), 0U);
    for (unsigned n = 1; n <= 64; ++n) {
        EXPECT_EQ(positions_of(first_bits(n)).size(), n);
        EXPECT_EQ(first_bits(n) >> (n - 1), 1U) << n;
    }
    EXPECT_EQ(first_bits(65), kAll);
}

TEST(ForEachBit, visits_each_one_in_ascending_order) {
    const std::vector<std::uint64_t> masks{
        0, 1, 2, 0x8000'0000'0000'0000, kAll, 0xAAAA'AAAA'AAAA'AAAA, 0x8000'0000'0000'0001};
    for (const std::uint64_t mask : masks) {
        std::vector<unsigned> seen;
        for_each_bit(mask, [&](unsigned i) { seen.push_back(i); });
        EXPECT_EQ(seen, positions_of(mask)) << std::hex << mask;
    }
}

TEST(DepositBits, puts_low_bits_where_the_mask_has_ones) {
    EXPECT_EQ(deposit_bits(0b101, 0b1110), 0b1010U);
    EXPECT_EQ(deposit_bits(0b11, 0b1000'0001), 0b1000'0001U);
    EXPECT_EQ(deposit_bits(kAll, 0), 0U);
    EXPECT_EQ(deposit_bits(0x1234, kAll), 0x1234U);
    // Bits of the value beyond the mask's ones are dropped.
    EXPECT_EQ(deposit_bits(0b100, 0b11), 0U);
}

TEST(DepositBits, of_random_masks_matches_the_definition) {
    std::mt19937_64 random(1);
    for (int round = 0; round < 1000; ++round) {
        const std::uint64_t value = random();
        const std::uint64_t mask = random() & (round % 2 == 0 ? random() : kAll);
        const std::vector<unsigned> places = positions_of(mask);
        std::uint64_t expected = 0;
        for (unsigned i = 0; i < places.size(); ++i) {
            expected |= (value >> i & 1) << places[i];
        }
        ASSERT_EQ(deposit_bits(value, mask), expected) << std::hex << value << " " << mask;
    }
}

TEST(ExtractBits, takes_back_what_deposit_bits_put_there) {
    std::mt19937_64 random(2);
    for (int round = 0; round < 1000; ++round) {
        const std::uint64_t mask = round == 0 ? 0 : round == 1 ? kAll : random() & random();
        const std::uint64_t value =
            random() & first_bits(static_cast<unsigned>(positions_of(mask).size()));
        // Bits outside the mask do not count.
        ASSERT_EQ(extract_bits(deposit_bits(value, mask) | (random() & ~mask), mask), value);
    }
}

}  // namespace
}  // namespace unecho::pipeline
