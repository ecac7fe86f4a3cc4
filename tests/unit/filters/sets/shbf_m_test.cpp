// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sets/shifting/shbf_m.h"

#include <array>
#include <bit>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "base/ids.h"
#include "support/shbf_filters.h"

namespace unecho::filter::shbf_m_test {
namespace {

using test::CountingMembership;
using test::Membership;

std::string m_message(const ShbfMSpec& spec) {
    return test::message<ShbfMParams>(spec);
}
std::string c_message(const CShbfMSpec& spec) {
    return test::message<CShbfMParams>(spec);
}

// Return a digest whose i-th stretch begins at this position.
Digest digest_at(std::uint64_t position, unsigned i, std::uint64_t m) {
    Digest digest = 1;
    while (first_bit_of(digest, i, m) != position) {
        ++digest;
    }
    return digest;
}

TEST(shbf_m_params, limits_are_named) {
    EXPECT_EQ(m_message({.m = 1, .k = 2}), "valid");
    EXPECT_EQ(m_message({.m = std::uint64_t{1} << 45, .k = 63, .t = 8, .w_bar = 9}), "valid");
    EXPECT_EQ(m_message({.m = 0, .k = 2}), "shbf_m: m = 0 bits; allowed: 1 to 2^45");
    EXPECT_EQ(m_message({.m = (std::uint64_t{1} << 45) + 1, .k = 2}),
              "shbf_m: m = 35184372088833 bits; allowed: 1 to 2^45");
    EXPECT_EQ(m_message({.m = 64, .k = 2, .t = 0}), "shbf_m: t = 0; allowed: 1 to 8");
    EXPECT_EQ(m_message({.m = 64, .k = 9, .t = 9}), "shbf_m: t = 9; allowed: 1 to 8");
    EXPECT_EQ(m_message({.m = 64, .k = 8, .t = ~0U}), "shbf_m: t = 4294967295; allowed: 1 to 8");
    EXPECT_EQ(m_message({.m = 64, .k = 0}),
              "shbf_m: k = 0; allowed: multiples of t + 1 = 2 up to 64");
    EXPECT_EQ(m_message({.m = 64, .k = 8, .t = 2}),
              "shbf_m: k = 8; allowed: multiples of t + 1 = 3 up to 64");
    EXPECT_EQ(m_message({.m = 64, .k = 66}),
              "shbf_m: k = 66; allowed: multiples of t + 1 = 2 up to 64");
    EXPECT_EQ(m_message({.m = 64, .k = 2, .w_bar = 1}), "shbf_m: w_bar = 1; allowed: 2 to 57");
    EXPECT_EQ(m_message({.m = 64, .k = 2, .w_bar = 58}), "shbf_m: w_bar = 58; allowed: 2 to 57");
    EXPECT_EQ(m_message({.m = 64, .k = 4, .t = 3, .w_bar = 3}),
              "shbf_m: w_bar = 3; allowed: 4 to 57");
}

TEST(shbf_m_params, limits_of_counters_are_named) {
    EXPECT_EQ(c_message({.m = 1, .k = 2}), "valid");
    EXPECT_EQ(c_message({.m = 1, .k = 2, .z = 16}), "valid");
    EXPECT_EQ(c_message({.m = 0, .k = 2}), "cshbf_m: m = 0 counters; allowed: 1 to 2^45");
    EXPECT_EQ(c_message({.m = 9, .k = 2, .z = 1}), "cshbf_m: z = 1; allowed: 2 to 16");
    EXPECT_EQ(c_message({.m = 9, .k = 2, .z = 17}), "cshbf_m: z = 17; allowed: 2 to 16");
    EXPECT_EQ(c_message({.m = 9, .k = 2, .t = 9}), "cshbf_m: t = 9; allowed: 1 to 8");
    EXPECT_EQ(c_message({.m = 9, .k = 3}),
              "cshbf_m: k = 3; allowed: multiples of t + 1 = 2 up to 64");
    EXPECT_EQ(c_message({.m = 9, .k = 3, .t = 2, .z = 16}), "valid");
    EXPECT_EQ(c_message({.m = 9, .k = 4, .t = 3, .z = 16}),
              "cshbf_m: t = 3 with counters of z = 16 bits; allowed: at most 2");
}

TEST(shbf_m_params, window_of_counters_is_what_one_load_holds) {
    EXPECT_EQ(CShbfMParams::make({.m = 9, .k = 2, .z = 2})->w_bar(), 28U);
    EXPECT_EQ(CShbfMParams::make({.m = 9, .k = 2, .z = 4})->w_bar(), 14U);
    EXPECT_EQ(CShbfMParams::make({.m = 9, .k = 2, .z = 8})->w_bar(), 7U);
}

TEST(shbf_m_params, bytes_hold_the_last_stretch_in_whole_lines) {
    const auto bytes = [](std::uint64_t m) { return ShbfM::bytes(*ShbfMParams::make({m, 2})); };
    EXPECT_EQ(bytes(1), 64U);
    EXPECT_EQ(bytes(456), 64U);
    EXPECT_EQ(bytes(457), 128U);
    const auto counters = [](std::uint64_t m) {
        return CShbfM::bytes(*CShbfMParams::make({.m = m, .k = 2, .z = 4}));
    };
    // 13 counters follow the last position: counter 113 is in bytes 56 to 63.
    EXPECT_EQ(counters(101), 64U);
    EXPECT_EQ(counters(102), 128U);
}

TEST(shbf_shape, offsets_are_one_of_each_range) {
    for (const auto& [t, w_bar] : {std::pair{1U, 57U},
                                   {1U, 2U},
                                   {2U, 57U},
                                   {3U, 57U},
                                   {5U, 56U},
                                   {8U, 9U},
                                   {8U, 57U},
                                   {2U, 13U}}) {
        const ShbfShape shape(t + 1, t, w_bar);
        const unsigned range = (w_bar - 1) / t;
        std::vector<std::set<unsigned>> seen(t);
        for (Digest digest = 0; digest < 2000; ++digest) {
            std::uint64_t bits = shape.pattern(remix(digest, 99));
            ASSERT_EQ(bits & 1, 1U);
            ASSERT_EQ(static_cast<unsigned>(std::popcount(bits)), t + 1);
            for (unsigned shift = 0; shift < t; ++shift) {
                bits &= bits - 1;
                seen[shift].insert(static_cast<unsigned>(std::countr_zero(bits)));
            }
        }
        for (unsigned shift = 0; shift < t; ++shift) {
            EXPECT_EQ(*seen[shift].begin(), shift * range + 1) << t << " " << w_bar;
            EXPECT_EQ(*seen[shift].rbegin(), (shift + 1) * range) << t << " " << w_bar;
            EXPECT_EQ(seen[shift].size(), range) << t << " " << w_bar;
        }
    }
}

TEST(shbf_m, inserted_matches_others_do_not) {
    Membership i({.m = 100'003, .k = 8});
    EXPECT_FALSE(i.filter.query(42));
    i.filter.insert(42);
    EXPECT_TRUE(i.filter.query(42));
    EXPECT_FALSE(i.filter.query(43));
    i.filter.clear();
    EXPECT_FALSE(i.filter.query(42));
    EXPECT_TRUE(i.all_zero());
}

// The last stretch of the array, with the largest offset, ends with the memory (under a sanitizer).
TEST(shbf_m, stretches_at_the_end_of_the_array_lie_inside) {
    for (const std::uint64_t m : {449U, 450U, 455U, 456U}) {
        Membership i({.m = m, .k = 2});
        const Digest digest = digest_at(m - 1, 0, m);
        i.filter.prefetch(digest);
        EXPECT_FALSE(i.filter.query(digest));
        i.filter.insert(digest);
        EXPECT_TRUE(i.filter.query(digest));
        EXPECT_EQ(i.set_bits(), 2U);
    }
}

TEST(shbf_m, burst_gives_the_answers_of_its_queries) {
    Membership i({.m = 400, .k = 4});
    std::array<Digest, kMaxBurst> digests{};
    for (unsigned d = 0; d < kMaxBurst; ++d) {
        digests[d] = 100 + d;
        if (d % 3 == 0) {
            i.filter.insert(digests[d]);
        }
    }
    const std::uint64_t matches = i.filter.query_burst(digests);
    for (unsigned d = 0; d < kMaxBurst; ++d) {
        EXPECT_EQ(matches >> d & 1, i.filter.query(digests[d]) ? 1U : 0U) << d;
    }
    EXPECT_EQ(matches & 0x9249249249249249ULL, 0x9249249249249249ULL);
    EXPECT_NE(matches, ~std::uint64_t{0});
    EXPECT_EQ(i.filter.query_burst({}), 0U);
}

TEST(shbf_counters, count_saturate_and_stay) {
    for (const unsigned z : {2U, 3U, 4U, 5U, 7U, 8U, 11U, 13U, 16U}) {
        const std::uint64_t top = (std::uint64_t{1} << z) - 1;
        const test::FilterMemory memory(ShbfCounters::bytes(9, z));
        ShbfCounters counters(memory.span().data(), z);
        counters.remove(4);
        EXPECT_EQ(counters.at(4), 0U);
        for (std::uint64_t i = 1; i < top; ++i) {
            counters.add(4);
            ASSERT_EQ(counters.at(4), i);
        }
        counters.remove(4);
        EXPECT_EQ(counters.at(4), top - 2);
        counters.add(4);
        counters.add(4);
        EXPECT_EQ(counters.at(4), top);
        counters.add(4);
        counters.remove(4);
        EXPECT_EQ(counters.at(4), top);
        EXPECT_EQ(counters.at(3), 0U);
        EXPECT_EQ(counters.at(5), 0U);
    }
}

TEST(shbf_counters, last_counter_lies_inside) {
    for (const unsigned z : {2U, 3U, 5U, 7U, 8U, 11U, 16U}) {
        // This many counters leave no byte behind the last load.
        const std::uint64_t count = 56 * 8 / z + 1;
        ASSERT_EQ(ShbfCounters::bytes(count, z), 64U);
        const test::FilterMemory memory(64);
        ShbfCounters counters(memory.span().data(), z);
        counters.add(count - 1);
        EXPECT_EQ(counters.at(count - 1), 1U);
    }
}

TEST(cshbf_m, erasing_what_does_not_match_changes_nothing) {
    CountingMembership i({.m = 1003, .k = 8});
    i.filter.insert(42);
    EXPECT_FALSE(i.filter.erase(43));
    EXPECT_TRUE(i.filter.query(42));
}

TEST(cshbf_m, saturated_counters_stay) {
    CountingMembership i({.m = 1'000'003, .k = 4, .z = 3});
    i.filter.prefetch(42);
    for (unsigned n = 0; n < 7; ++n) {
        i.filter.insert(42);
    }
    for (unsigned n = 0; n < 20; ++n) {
        EXPECT_TRUE(i.filter.erase(42));
    }
    EXPECT_TRUE(i.filter.query(42));
    i.filter.clear();
    EXPECT_FALSE(i.filter.query(42));
    EXPECT_TRUE(i.all_zero());
}

}  // namespace
}  // namespace unecho::filter::shbf_m_test
