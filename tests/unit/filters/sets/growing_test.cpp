// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sets/growing.h"

#include <algorithm>
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
