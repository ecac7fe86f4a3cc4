// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sets/shifting/shbf_x.h"

#include <gtest/gtest.h>

#include "support/shbf_filters.h"

namespace unecho::filter::shbf_x_test {
namespace {

using test::CountingMultiplicity;
using test::Multiplicity;

std::string message(const ShbfXSpec& spec) {
    return test::message<ShbfXParams>(spec);
}

TEST(shbf_x_params, limits_are_named) {
    EXPECT_EQ(message({.m = 1, .k = 1, .c = 1}), "valid");
    EXPECT_EQ(message({.m = std::uint64_t{1} << 45, .k = 64, .c = 57, .z = 2}), "valid");
    EXPECT_EQ(message({.m = 0, .k = 1, .c = 1}), "shbf_x: m = 0 bits; allowed: 1 to 2^45");
    EXPECT_EQ(message({.m = 9, .k = 0, .c = 1}), "shbf_x: k = 0; allowed: 1 to 64");
    EXPECT_EQ(message({.m = 9, .k = 65, .c = 1}), "shbf_x: k = 65; allowed: 1 to 64");
    EXPECT_EQ(message({.m = 9, .k = 1, .c = 0}), "shbf_x: c = 0; allowed: 1 to 57");
    EXPECT_EQ(message({.m = 9, .k = 1, .c = 58}), "shbf_x: c = 58; allowed: 1 to 57");
    EXPECT_EQ(message({.m = 9, .k = 1, .c = 9, .z = 1}), "shbf_x: z = 1; allowed: 2 to 16");
    EXPECT_EQ(message({.m = 9, .k = 1, .c = 9, .z = 17}), "shbf_x: z = 17; allowed: 2 to 16");
}

// A 4-bit counter for each of the bits 0 to m - 1 + c - 1.
TEST(shbf_x_params, bytes_hold_the_last_stretch_and_counter_in_whole_lines) {
    const auto bits = [](std::uint64_t m) {
        return ShbfX::bytes(*ShbfXParams::make({.m = m, .k = 4, .c = 10}));
    };
    EXPECT_EQ(bits(456), 64U);
    EXPECT_EQ(bits(457), 128U);
    const auto both = [](std::uint64_t m) {
        return CShbfX::bytes(*ShbfXParams::make({.m = m, .k = 4, .c = 10}));
    };
    EXPECT_EQ(both(105), 128U);
    EXPECT_EQ(both(106), 192U);
}

TEST(shbf_x, largest_of_several_candidates_is_reported) {
    Multiplicity i({.m = 10'007, .k = 6, .c = 57});
    i.filter.prefetch(42);
    i.filter.insert(42, 3);
    i.filter.insert(42, 57);
    i.filter.insert(42, 1);
    EXPECT_EQ(i.filter.query(42), 57U);
    EXPECT_EQ(i.filter.candidates(42), std::uint64_t{1} << 56 | 0b101U);
    i.filter.clear();
    EXPECT_EQ(i.filter.query(42), 0U);
    EXPECT_TRUE(i.all_zero());
}

TEST(shbf_x, stretches_at_the_end_of_the_array_lie_inside) {
    constexpr std::uint64_t kM = 456;
    unsigned met = 0;
    for (Digest digest = 1; digest < 5'000; ++digest) {
        if (first_bit_of(digest, 0, kM) == kM - 1) {
            Multiplicity i({.m = kM, .k = 1, .c = 57});
            i.filter.insert(digest, 57);
            EXPECT_EQ(i.filter.query(digest), 57U);
            EXPECT_EQ(i.memory.span()[63], std::byte{0x80});
            ++met;
        }
    }
    EXPECT_GT(met, 0U);
}

TEST(cshbf_x, table_of_huge_counts_stays_at_c) {
    CountingMultiplicity i({.m = 10'007, .k = 6, .c = 5});
    i.filter.insert(42, [](Digest) { return ~std::uint64_t{0}; });
    i.filter.erase(42, [](Digest) { return ~std::uint64_t{0}; });
    EXPECT_TRUE(i.all_zero());
}

TEST(cshbf_x, saturated_counters_keep_their_candidate) {
    CountingMultiplicity i({.m = 1, .k = 3, .c = 4, .z = 2});
    const auto none = [](Digest) { return 0U; };
    const auto one = [](Digest) { return 1U; };
    i.filter.prefetch(42);
    i.filter.insert(42, none);
    i.filter.erase(42, one);
    EXPECT_EQ(i.filter.candidates(42), 1U);
    i.filter.clear();
    EXPECT_TRUE(i.all_zero());
}

}  // namespace
}  // namespace unecho::filter::shbf_x_test
