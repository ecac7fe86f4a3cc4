// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sets/shifting/shbf_a.h"

#include <algorithm>
#include <bit>
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

TEST(shbf_a_region, joining_and_leaving_moves_between_regions) {
    using enum Region;
    const struct {
        Region from;
        Region joined_first, joined_second, left_first, left_second;
    } table[] = {{kNone, kFirstOnly, kSecondOnly, kNone, kNone},
                 {kFirstOnly, kFirstOnly, kBoth, kNone, kFirstOnly},
                 {kBoth, kBoth, kBoth, kSecondOnly, kFirstOnly},
                 {kSecondOnly, kBoth, kSecondOnly, kSecondOnly, kNone}};
    for (const auto& row : table) {
        EXPECT_EQ(joined(row.from, SetOfTwo::kFirst), row.joined_first);
        EXPECT_EQ(joined(row.from, SetOfTwo::kSecond), row.joined_second);
        EXPECT_EQ(left(row.from, SetOfTwo::kFirst), row.left_first);
        EXPECT_EQ(left(row.from, SetOfTwo::kSecond), row.left_second);
    }
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

// All seven outcomes occur: an element in several regions has their mask as the answer.
TEST(shbf_a, answer_is_the_mask_of_candidates) {
    for (unsigned mask = 0; mask < 8; ++mask) {
        AssociationFilter i({.m = 100'003, .k = 8});
        for (const Region region : kRegions) {
            if ((mask & static_cast<unsigned>(region)) != 0) {
                i.filter.insert(42, region);
            }
        }
        EXPECT_EQ(static_cast<unsigned>(i.filter.query(42)), mask);
        for (const Region region : kRegions) {
            EXPECT_EQ(may_be(i.filter.query(42), region),
                      (mask & static_cast<unsigned>(region)) != 0);
        }
    }
    EXPECT_TRUE(may_be(Association::kFirst, Region::kFirstOnly));
    EXPECT_TRUE(may_be(Association::kFirst, Region::kBoth));
    EXPECT_TRUE(may_be(Association::kSecond, Region::kSecondOnly));
    EXPECT_FALSE(may_be(Association::kSecond, Region::kFirstOnly));
    EXPECT_FALSE(may_be(Association::kOneOnly, Region::kBoth));
    EXPECT_TRUE(may_be(Association::kUnknown, Region::kBoth));
}

// Over many elements, o1 takes all values of 1..28 and o2 of o1 + 1..o1 + 28.
TEST(shbf_a, offsets_reach_all_of_their_ranges) {
    for (const unsigned w_bar : {3U, 4U, 13U, 57U}) {
        const unsigned range = (w_bar - 1) / 2;
        unsigned least = ~0U;
        unsigned most = 0;
        unsigned least_step = ~0U;
        unsigned most_step = 0;
        for (Digest digest = 1; digest <= 2000; ++digest) {
            const auto offset = [&](Region region) {
                AssociationFilter i({.m = 1, .k = 1, .w_bar = w_bar});
                i.filter.insert(digest, region);
                std::uint64_t word;
                std::memcpy(&word, i.memory.span().data(), sizeof word);
                EXPECT_EQ(std::popcount(word), 1);
                return static_cast<unsigned>(std::countr_zero(word));
            };
            ASSERT_EQ(offset(Region::kFirstOnly), 0U);
            const unsigned both = offset(Region::kBoth);
            const unsigned step = offset(Region::kSecondOnly) - both;
            least = std::min(least, both);
            most = std::max(most, both);
            least_step = std::min(least_step, step);
            most_step = std::max(most_step, step);
        }
        EXPECT_EQ(least, 1U);
        EXPECT_EQ(most, range);
        EXPECT_EQ(least_step, 1U);
        EXPECT_EQ(most_step, range);
    }
}

TEST(shbf_a, stretches_at_the_end_of_the_array_lie_inside) {
    constexpr std::uint64_t kM = 456;
    for (Digest digest = 1; digest < 20'000; ++digest) {
        if (first_bit_of(digest, 0, kM) == kM - 1) {
            for (const Region region : kRegions) {
                AssociationFilter i({.m = kM, .k = 1});
                i.filter.insert(digest, region);
                EXPECT_EQ(static_cast<unsigned>(i.filter.query(digest)),
                          static_cast<unsigned>(region));
            }
        }
    }
}

TEST(cshbf_a, element_moves_through_all_regions) {
    CountingAssociation i({.m = 10'007, .k = 6});
    i.filter.prefetch(42);
    Region region = i.filter.insert(42, SetOfTwo::kSecond, Region::kNone);
    EXPECT_EQ(region, Region::kSecondOnly);
    EXPECT_EQ(i.filter.query(42), Association::kSecondOnly);
    region = i.filter.insert(42, SetOfTwo::kFirst, region);
    EXPECT_EQ(region, Region::kBoth);
    EXPECT_EQ(i.filter.query(42), Association::kBoth);
    region = i.filter.insert(42, SetOfTwo::kFirst, region);
    EXPECT_EQ(i.filter.query(42), Association::kBoth);
    region = i.filter.erase(42, SetOfTwo::kSecond, region);
    EXPECT_EQ(region, Region::kFirstOnly);
    EXPECT_EQ(i.filter.query(42), Association::kFirstOnly);
    region = i.filter.erase(42, SetOfTwo::kSecond, region);
    EXPECT_EQ(i.filter.query(42), Association::kFirstOnly);
    region = i.filter.erase(42, SetOfTwo::kFirst, region);
    EXPECT_EQ(region, Region::kNone);
    EXPECT_EQ(i.filter.query(42), Association::kNeither);
    EXPECT_TRUE(i.all_zero());
}

TEST(cshbf_a, saturated_counters_keep_the_region_that_was_left) {
    // Both elements use the same few counters. Three visits of kFirstOnly saturate 2 bits.
    CountingAssociation i({.m = 1, .k = 3, .z = 2});
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
