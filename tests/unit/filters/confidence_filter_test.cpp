// SPDX-License-Identifier: BSD-3-Clause
// Filters that estimate the chance of an accidental match: the chance, limits on it, and doubts.
#include "filters/confidence_filter.h"

#include <bit>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "filters/sizing/fpr.h"
#include "filters/window/segmented/apbbf.h"
#include "filters/window/segmented/apbf.h"
#include "filters/window/segmented/shbf_window.h"
#include "support/instance.h"

namespace unecho::filter::judging_test {
namespace {

template <typename F>
struct spec_for;
template <>
struct spec_for<Apbf> {
    static ApbfSpec of(EchoPolicy policy) {
        return {.k = 3, .l = 4, .m = 1 << 14, .policy = policy};
    }
};
template <>
struct spec_for<Apbbf> {
    static ApbbfSpec of(EchoPolicy policy) {
        return {.k = 3, .l = 4, .b = 8, .blocks = 100, .policy = policy};
    }
};
template <>
struct spec_for<ShbfWindow> {
    static ShbfWindowSpec of(EchoPolicy policy) {
        return {.k = 3, .l = 4, .m = 1 << 14, .b = 4, .policy = policy};
    }
};

template <typename F>
struct Instance : test::FilterInstance<F> {
    explicit Instance(EchoPolicy policy = EchoPolicy::kFixed)
        : test::FilterInstance<F>(spec_for<F>::of(policy)) {}
};

template <typename F>
class judging : public testing::Test {};
using Filters = testing::Types<Apbf, Apbbf, ShbfWindow>;
TYPED_TEST_SUITE(judging, Filters);

template <typename F>
void fill(F& filter, unsigned keys, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (unsigned i = 0; i < keys; ++i) {
        filter.insert(random());
    }
}

TYPED_TEST(judging, chance_grows_with_insertions_falls_with_age_and_ends_with_clear) {
    Instance<TypeParam> i;
    i.filter.advance({.generation = 100});
    fill(i.filter, 1500, 99);
    float last = i.filter.chance(0);
    for (unsigned step = 0; step < 20; ++step) {
        fill(i.filter, 100, step);
        EXPECT_GT(i.filter.chance(0), last) << step;
        last = i.filter.chance(0);
    }
    for (std::uint64_t generation = 101; generation < 107; ++generation) {
        i.filter.advance({.generation = generation});
        EXPECT_LE(i.filter.chance(0), last);
        last = i.filter.chance(0);
    }
    EXPECT_GT(last, 0.0F);
    i.filter.advance({.generation = 107});
    EXPECT_EQ(i.filter.chance(0), kMinChance);
    fill(i.filter, 2000, 1);
    EXPECT_GT(i.filter.chance(0), kMinChance);
    i.filter.clear();
    EXPECT_EQ(i.filter.chance(0), kMinChance);
}

// Compute the recursion over the slices' fills from their memory.
TEST(judging_apbf, chance_is_that_of_the_bits_set) {
    test::FilterInstance<Apbf> i({.k = 3, .l = 4, .m = 1 << 14});
    for (std::uint64_t generation = 0; generation < 20; ++generation) {
        i.filter.advance({.generation = generation});
        fill(i.filter, 1000 + 400 * static_cast<unsigned>(generation % 3), generation);
        sizing::Profile r;
        for (unsigned slot = 0; slot < 7; ++slot) {
            const auto* words =
                reinterpret_cast<const std::uint64_t*>(i.filter.segments().segment(slot));
            unsigned set = 0;
            for (unsigned word = 0; words != nullptr && word < (1 << 14) / 64; ++word) {
                set += static_cast<unsigned>(std::popcount(words[word]));
            }
            ASSERT_EQ(i.filter.segments().changes(slot), set) << slot;
            r.push_back(set / 16384.0);
        }
        const double exact = sizing::false_positive_rate(3, 4, r);
        EXPECT_GE(i.filter.chance(0), exact);
        EXPECT_LE(i.filter.chance(0), exact * 1.04);
    }
}

// With random digests only, changes and insertions correspond: the profile of sizing applies.
TEST(judging_apbbf, chance_is_that_of_the_planned_profile) {
    test::FilterInstance<Apbbf> i({.k = 2, .l = 5, .b = 8, .blocks = 4000});
    std::mt19937_64 random(5);
    constexpr unsigned kKeys = 80'000;
    for (std::uint64_t generation = 0; generation < 8; ++generation) {
        i.filter.advance({.generation = generation});
        for (unsigned key = 0; key < kKeys; ++key) {
            i.filter.insert(random());
        }
    }
    const double planned = sizing::false_positive_rate(
        2, 5, sizing::block_profile(2, 5, 512, 8, 4000, kKeys, sizing::kBeforeShift));
    EXPECT_GE(i.filter.chance(0), planned * 0.99);
    EXPECT_LE(i.filter.chance(0), planned * 1.06);
}

TEST(match_table, of_bits_is_the_fill_rounded_up_to_a_step) {
    const MatchTable table = MatchTable::of_bits(1 << 20, 2);
    // half of ln 2 * 2^20 in 256 steps: 1419, rounded down to a power of two 1024.
    EXPECT_EQ(table.rounded(0), 0U);
    EXPECT_EQ(table.rounded(1), 1024U);
    EXPECT_EQ(table.rounded(1024), 1024U);
    EXPECT_EQ(table.rounded(1025), 2048U);
    EXPECT_EQ(table.match(0), 0.0F);
    EXPECT_EQ(table.match(1), 0x1p-10F);
    EXPECT_EQ(table.match(1 << 19), 0.5F);
    EXPECT_EQ(table.match((1 << 19) + 1), 0.5F + 0x1p-10F);
    EXPECT_EQ(table.match(1 << 20), 1.0F);
    EXPECT_EQ(table.match(~std::uint64_t{0} >> 1), 1.0F);
}

// match(n) = 1 - exp(-n / 1e6): changes(n) are the same, so the table is the identity.
TEST(match_table, make_counts_changes_not_digests) {
    const MatchTable table =
        MatchTable::make(1e6, 4, [](double n) { return -std::expm1(-n / 1e6); });
    for (const std::uint64_t changes : {1'000, 30'000, 200'000, 500'000, 900'000}) {
        const double match = table.match(changes);
        EXPECT_GE(match, static_cast<double>(changes) / 1e6);
        EXPECT_LE(match, static_cast<double>(changes + 1024) / 1e6 * 1.001);
    }
}

}  // namespace
}  // namespace unecho::filter::judging_test
