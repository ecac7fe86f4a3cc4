// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sets/growing.h"

#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "support/instance.h"

namespace unecho::filter::growing_test {
namespace {

using Instance = test::FilterInstance<GrowingFilter>;

std::string message(const GrowingSpec& spec) {
    return test::message<GrowingParams>(spec);
}

TEST(growing_params, limits_are_named) {
    EXPECT_EQ(message({.k = 1, .m = 2, .limit = 1}), "valid");
    EXPECT_EQ(message({.k = 64, .m = 2, .filters = 4096, .limit = 99}), "valid");
    EXPECT_EQ(message({.k = 4, .m = 100, .by = GrowBy::kDensity, .limit = 99}), "valid");
    EXPECT_EQ(message({.k = 0, .m = 64, .limit = 1}), "growing: k = 0; allowed: 1 to 64");
    EXPECT_EQ(message({.k = 65, .m = 64, .limit = 1}), "growing: k = 65; allowed: 1 to 64");
    EXPECT_EQ(message({.k = 4, .m = 64, .filters = 0, .limit = 1}),
              "growing: filters = 0; allowed: 1 to 4096");
    EXPECT_EQ(message({.k = 4, .m = 64, .filters = 4097, .limit = 1}),
              "growing: filters = 4097; allowed: 1 to 4096");
    EXPECT_EQ(message({.k = 4, .m = 1, .limit = 1}),
              "growing: m = 1 bits in each of 1 filters; allowed: 2 to 2^49 in all");
    EXPECT_EQ(message({.k = 4, .m = ~std::uint64_t{0}, .limit = 1}),
              "growing: m = 18446744073709551615 bits in each of 1 filters; allowed: 2 to 2^49 in "
              "all");
    EXPECT_EQ(message({.k = 4, .m = std::uint64_t{1} << 48, .filters = 3, .limit = 1}),
              "growing: m = 281474976710656 bits in each of 3 filters; allowed: 2 to 2^49 in all");
    EXPECT_EQ(message({.k = 4, .m = 64}), "growing: limit = 0; allowed: 1 or more");
    EXPECT_EQ(message({.k = 4, .m = 64, .by = GrowBy::kDensity, .limit = 64}),
              "growing: limit = 64 set bits; allowed: less than m = 64");
}

TEST(growing_params, bytes_are_whole_lines_for_each_filter) {
    const auto bytes = [](const GrowingSpec& spec) {
        return GrowingFilter::bytes(*GrowingParams::make(spec));
    };
    EXPECT_EQ(bytes({.k = 1, .m = 512, .filters = 3, .limit = 1}), 3u * 64);
    EXPECT_EQ(bytes({.k = 1, .m = 513, .filters = 3, .limit = 1}), 3u * 128);
}

TEST(growing, new_then_echo) {
    Instance i({.k = 4, .m = 4096, .limit = 10});
    EXPECT_FALSE(i.filter.query(42));
    EXPECT_FALSE(i.filter.test_and_insert(42));
    EXPECT_TRUE(i.filter.query(42));
    EXPECT_TRUE(i.filter.test_and_insert(42));
    EXPECT_FALSE(i.filter.query(43));
    i.filter.insert(43);
    EXPECT_TRUE(i.filter.query(43));
    EXPECT_EQ(i.filter.counters().insertions, 2u);
}

TEST(growing, by_cardinality_a_filter_takes_its_limit) {
    Instance i({.k = 4, .m = 4096, .filters = 3, .limit = 10});
    for (Digest digest = 0; digest < 30; ++digest) {
        i.filter.insert(digest);
        ASSERT_EQ(i.filter.filters(), digest / 10 + 1);
        ASSERT_EQ(i.filter.youngest_insertions(), digest % 10 + 1);
    }
    for (Digest digest = 0; digest < 30; ++digest) {
        EXPECT_TRUE(i.filter.query(digest));
    }
    EXPECT_EQ(i.filter.counters().overfull, 0u);
}

// The filter counts the same bits as a definition by sets, even if digests overlap.
TEST(growing, by_density_a_filter_grows_once_more_bits_than_the_limit_are_set) {
    constexpr std::uint64_t kBits = 100;
    constexpr std::uint64_t kLimit = 40;
    Instance i({.k = 4, .m = kBits, .filters = 50, .by = GrowBy::kDensity, .limit = kLimit});
    std::set<std::uint64_t> set;
    unsigned filters = 1;
    for (Digest digest = 0; digest < 200; ++digest) {
        if (set.size() > kLimit) {
            set.clear();
            ++filters;
        }
        for (unsigned salt = 1; salt <= 4; ++salt) {
            set.insert(reduce(remix(digest, salt), kBits));
        }
        i.filter.insert(digest);
        ASSERT_EQ(i.filter.filters(), filters);
        ASSERT_EQ(i.filter.youngest_set_bits(), set.size());
        ASSERT_LE(set.size(), kLimit + 4);
    }
    EXPECT_GT(filters, 10u);
}

TEST(growing, by_density_the_limit_itself_may_be_set) {
    Instance i({.k = 1, .m = 1000, .filters = 2, .by = GrowBy::kDensity, .limit = 1});
    i.filter.insert(1);
    EXPECT_EQ(i.filter.youngest_set_bits(), 1u);
    i.filter.insert(2);
    EXPECT_EQ(i.filter.filters(), 1u);
    i.filter.insert(3);
    EXPECT_EQ(i.filter.filters(), 2u);
}

TEST(growing, a_full_arena_goes_on_and_counts) {
    for (const GrowBy by : {GrowBy::kCardinality, GrowBy::kDensity}) {
        Instance i({.k = 4, .m = 512, .filters = 2, .by = by, .limit = 20});
        std::uint64_t full_at = 0;
        for (Digest digest = 0; digest < 500; ++digest) {
            i.filter.insert(digest);
            if (full_at == 0 && i.filter.counters().overfull > 0) {
                full_at = digest;
            }
            ASSERT_LE(i.filter.filters(), 2u);
        }
        EXPECT_EQ(i.filter.counters().overfull, 500 - full_at);
        EXPECT_EQ(full_at == 40, by == GrowBy::kCardinality);
        for (Digest digest = 0; digest < 500; ++digest) {
            ASSERT_TRUE(i.filter.query(digest));
        }
        EXPECT_EQ(i.filter.counters().insertions, 500u);
    }
}

TEST(growing, clear_starts_with_one_filter) {
    Instance i({.k = 4, .m = 600, .filters = 3, .limit = 10});
    for (Digest digest = 0; digest < 25; ++digest) {
        i.filter.insert(digest);
    }
    i.filter.clear();
    EXPECT_EQ(i.filter.filters(), 1u);
    EXPECT_EQ(i.filter.youngest_insertions(), 0u);
    EXPECT_EQ(i.filter.youngest_set_bits(), 0u);
    const auto memory = i.memory.span();
    EXPECT_TRUE(std::all_of(memory.begin(), memory.end(),
                            [](std::byte byte) { return byte == std::byte{0}; }));
    for (Digest digest = 0; digest < 25; ++digest) {
        EXPECT_FALSE(i.filter.query(digest));
    }
}

}  // namespace
}  // namespace unecho::filter::growing_test
