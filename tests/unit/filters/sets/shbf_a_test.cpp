// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sets/shifting/shbf_a.h"

#include <cstring>

#include <gtest/gtest.h>

#include "support/shbf_filters.h"

namespace unecho::filter::shbf_a_test {
namespace {

using test::AssociationFilter;
using test::CountingAssociation;

constexpr Region kRegions[] = {Region::kFirstOnly, Region::kBoth, Region::kSecondOnly};

std::string message(const ShbfASpec& spec) {
    return test::message<ShbfAParams>(spec);
}

TEST(shbf_a_params, limits_are_named) {
    EXPECT_EQ(message({.m = 1, .k = 1}), "valid");
    EXPECT_EQ(message({.m = std::uint64_t{1} << 45, .k = 64, .w_bar = 3, .z = 16}), "valid");
    EXPECT_EQ(message({.m = 0, .k = 1}), "shbf_a: m = 0 bits; allowed: 1 to 2^45");
    EXPECT_EQ(message({.m = ~std::uint64_t{0}, .k = 1}),
              "shbf_a: m = 18446744073709551615 bits; allowed: 1 to 2^45");
    EXPECT_EQ(message({.m = 9, .k = 0}), "shbf_a: k = 0; allowed: 1 to 64");
    EXPECT_EQ(message({.m = 9, .k = 65}), "shbf_a: k = 65; allowed: 1 to 64");
    EXPECT_EQ(message({.m = 9, .k = 1, .w_bar = 2}), "shbf_a: w_bar = 2; allowed: 3 to 57");
    EXPECT_EQ(message({.m = 9, .k = 1, .w_bar = 58}), "shbf_a: w_bar = 58; allowed: 3 to 57");
    EXPECT_EQ(message({.m = 9, .k = 1, .z = 1}), "shbf_a: z = 1; allowed: 2 to 16");
    EXPECT_EQ(message({.m = 9, .k = 1, .z = 17}), "shbf_a: z = 17; allowed: 2 to 16");
}

// The 4-bit counters are for bits 0 to m - 1 + 56: 64 bytes hold 114 of them.
TEST(shbf_a_params, bytes_hold_the_last_stretch_and_counter_in_whole_lines) {
    const auto bits = [](std::uint64_t m) { return ShbfA::bytes(*ShbfAParams::make({m, 4})); };
    EXPECT_EQ(bits(456), 64U);
    EXPECT_EQ(bits(457), 128U);
    const auto both = [](std::uint64_t m) { return CShbfA::bytes(*ShbfAParams::make({m, 4})); };
    EXPECT_EQ(both(58), 128U);
    EXPECT_EQ(both(59), 192U);
}

TEST(shbf_a, each_region_is_told_from_the_others) {
    for (const Region region : kRegions) {
        AssociationFilter i({.m = 100'003, .k = 8});
        EXPECT_EQ(i.filter.query(42), Association::kNeither);
        i.filter.prefetch(42);
        i.filter.insert(42, region);
        EXPECT_EQ(i.set_bits(), 8U);
        EXPECT_EQ(static_cast<unsigned>(i.filter.query(42)), static_cast<unsigned>(region));
        EXPECT_EQ(i.filter.query(43), Association::kNeither);
        i.filter.clear();
        EXPECT_TRUE(i.all_zero());
    }
}

TEST(cshbf_a, saturated_counters_keep_the_region_that_was_left) {
    // Both elements use the same few counters. Three visits of kFirstOnly saturate 2 bits.
    CountingAssociation i({.m = 1, .k = 3, .z = 2});
    i.filter.prefetch(42);
    i.filter.insert(42, SetOfTwo::kFirst, Region::kNone);
    i.filter.erase(42, SetOfTwo::kFirst, Region::kFirstOnly);
    EXPECT_EQ(i.filter.query(42), Association::kFirstOnly);
    i.filter.insert(42, SetOfTwo::kSecond, Region::kNone);
    EXPECT_EQ(i.filter.query(42), Association::kOneOnly);
    i.filter.clear();
    EXPECT_TRUE(i.all_zero());
    EXPECT_EQ(i.filter.query(42), Association::kNeither);
}

}  // namespace
}  // namespace unecho::filter::shbf_a_test
