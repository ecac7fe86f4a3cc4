// SPDX-License-Identifier: BSD-3-Clause
// Baseline filters that forget: two or three filters in turn, SWAMP, and the stable Bloom filter.
#include <array>
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "filters/papers/a2_buffering.h"
#include "filters/papers/double_buffering.h"
#include "filters/papers/forgetful_bloom.h"
#include "filters/papers/rotating_blocked.h"
#include "filters/papers/stable_bloom.h"
#include "filters/papers/swamp.h"
#include "support/instance.h"
#include "support/seed.h"

namespace unecho::test::windows_test {
namespace {

using namespace filter::baseline;
using filter::EchoPolicy;

// kStays: generations after its own for which a digest certainly stays.
template <typename FilterType, typename ParamsType, unsigned kStays>
struct Kind {
    using Filter = FilterType;
    using Params = ParamsType;
    using Instance = FilterInstance<Filter, Params>;
    static constexpr unsigned kWindow = kStays;
};

template <typename K>
class turning : public testing::Test {};
using Kinds =
    testing::Types<Kind<DoubleBuffering, BloomParams, 1>, Kind<A2Buffering, BloomParams, 1>,
                   Kind<RotatingBlocked, BlockedBloomParams, 1>,
                   Kind<ForgetfulBloom, BloomParams, 2>>;
TYPED_TEST_SUITE(turning, Kinds);

constexpr BaselineSpec kRoomy{.m = 512 * 2000, .k = 8};

TYPED_TEST(turning, earlier_generation_changes_nothing) {
    typename TypeParam::Instance i(kRoomy);
    i.filter.advance({.generation = 10});
    i.filter.insert(42);
    i.filter.advance({.generation = 9});
    i.filter.advance({.generation = 10});
    EXPECT_EQ(i.filter.counters().shifts, TypeParam::kWindow + 1U);
    i.filter.advance({.generation = 10 + TypeParam::kWindow});
    EXPECT_TRUE(i.filter.query(42));
}

TYPED_TEST(turning, clear_forgets_and_keeps_the_generation) {
    typename TypeParam::Instance i(kRoomy);
    i.filter.advance({.generation = 7});
    i.filter.insert(42);
    i.filter.clear();
    EXPECT_FALSE(i.filter.query(42));
    i.filter.insert(43);
    i.filter.advance({.generation = 7 + TypeParam::kWindow});
    EXPECT_TRUE(i.filter.query(43));
    i.filter.advance({.generation = 8 + TypeParam::kWindow});
    EXPECT_FALSE(i.filter.query(43));
}

TYPED_TEST(turning, insertions_and_shifts_are_counted) {
    typename TypeParam::Instance i(kRoomy);
    EXPECT_FALSE(i.filter.test_and_insert(1));
    EXPECT_TRUE(i.filter.test_and_insert(1));
    EXPECT_FALSE(i.filter.test_and_insert(2));
    i.filter.advance({.generation = 2});
    EXPECT_EQ(i.filter.counters().insertions, 2U);
    EXPECT_EQ(i.filter.counters().shifts, 2U);
    EXPECT_EQ(i.filter.counters().inline_clears, 2U);
}

// A filter long out of use must be cleared completely.
TYPED_TEST(turning, silence_leaves_no_bit) {
    typename TypeParam::Instance i(kRoomy);
    for (Digest digest = 0; digest < 1000; ++digest) {
        i.filter.advance({.generation = digest / 100});
        i.filter.insert(remix(digest, 0));
    }
    i.filter.advance({.generation = 100});
    for (const std::byte byte : i.memory.span()) {
        ASSERT_EQ(byte, std::byte{0});
    }
}

template <typename Filter, typename Params, typename Spec>
void expect_burst_is_a_sequence(const Spec& spec) {
    FilterInstance<Filter, Params> burst(spec);
    FilterInstance<Filter, Params> single(spec);
    std::mt19937_64 random(seed());
    for (unsigned step = 0; step < 200; ++step) {
        std::vector<Digest> digests(random() % (kMaxBurst + 1));
        for (Digest& digest : digests) {
            digest = remix(random() % 300, 0);
        }
        burst.filter.advance({.generation = step / 10});
        single.filter.advance({.generation = step / 10});
        std::uint64_t expected = 0;
        for (std::size_t p = 0; p < digests.size(); ++p) {
            expected |= std::uint64_t{single.filter.test_and_insert(digests[p])} << p;
        }
        ASSERT_EQ(burst.filter.test_and_insert_burst(digests), expected);
    }
    ASSERT_EQ(std::memcmp(burst.memory.span().data(), single.memory.span().data(),
                          single.memory.span().size()),
              0);
}

// --- Swamp ---

TEST(swamp, params_have_limits) {
    const auto with = [](std::uint64_t W, unsigned f) {
        return message<SwampParams>(SwampSpec{.W = W, .f = f});
    };
    EXPECT_EQ(with(1, 1), "valid");
    EXPECT_EQ(with(std::uint64_t{1} << 31, 32), "valid");
    EXPECT_EQ(with(0, 8), "swamp: W = 0; allowed: 1 to 2147483648");
    EXPECT_EQ(with((std::uint64_t{1} << 31) + 1, 8),
              "swamp: W = 2147483649; allowed: 1 to 2147483648");
    EXPECT_EQ(with(10, 0), "swamp: f = 0; allowed: 1 to 32");
    EXPECT_EQ(with(10, 33), "swamp: f = 33; allowed: 1 to 32");
}

TEST(swamp, burst_is_a_sequence) {
    expect_burst_is_a_sequence<Swamp, SwampParams>(SwampSpec{.W = 100, .f = 9});
    expect_burst_is_a_sequence<Swamp, SwampParams>(
        SwampSpec{.W = 100, .f = 9, .policy = EchoPolicy::kFixed});
}

// --- Stable Bloom filter ---

using Stable = FilterInstance<StableBloom, StableParams>;

TEST(stable_bloom, params_have_limits) {
    const auto with = [](const StableSpec& spec) { return message<StableParams>(spec); };
    EXPECT_EQ(with({.m = 64, .k = 1, .max = 1, .P = 1}), "valid");
    EXPECT_EQ(with({.m = 64, .k = 32, .max = 255, .P = 64}), "valid");
    EXPECT_EQ(with({.m = 64, .k = 0, .max = 1, .P = 1}), "stable bloom: k = 0; allowed: 1 to 32");
    EXPECT_EQ(with({.m = 63, .k = 1, .max = 1, .P = 1}),
              "stable bloom: m = 63 counters; allowed: 64 to 70368744177664");
    EXPECT_EQ(with({.m = 64, .k = 1, .max = 0, .P = 1}),
              "stable bloom: max = 0; allowed: 1 to 255");
    EXPECT_EQ(with({.m = 64, .k = 1, .max = 256, .P = 1}),
              "stable bloom: max = 256; allowed: 1 to 255");
    EXPECT_EQ(with({.m = 64, .k = 1, .max = 1, .P = 0}),
              "stable bloom: P = 0; allowed: 1 to 64 (m)");
    EXPECT_EQ(with({.m = 64, .k = 1, .max = 1, .P = 65}),
              "stable bloom: P = 65; allowed: 1 to 64 (m)");
}

TEST(stable_bloom, cells_are_as_wide_as_max_needs) {
    const auto width = [](unsigned max) {
        return StableParams::make({.m = 64, .k = 1, .max = max, .P = 1})->d();
    };
    EXPECT_EQ(width(1), 1U);
    EXPECT_EQ(width(2), 2U);
    EXPECT_EQ(width(3), 2U);
    EXPECT_EQ(width(4), 4U);
    EXPECT_EQ(width(15), 4U);
    EXPECT_EQ(width(16), 8U);
    EXPECT_EQ(width(255), 8U);
}

// With P = m each insertion takes 1 from every cell: a digest stays for exactly max - 1 others.
TEST(stable_bloom, cells_fade_one_by_one) {
    for (const unsigned max : {1U, 2U, 3U, 15U, 16U, 255U}) {
        Stable i(StableSpec{.m = 10'000, .k = 8, .max = max, .P = 10'000});
        i.filter.insert(42);
        for (unsigned others = 0; others < max; ++others) {
            ASSERT_TRUE(i.filter.query(42)) << max << " " << others;
            i.filter.insert(remix(others % 3, 0));
        }
        EXPECT_FALSE(i.filter.query(42)) << max;
    }
}

// Each insertion takes 1 from P consecutive cells, around the end. Every cell is reached.
TEST(stable_bloom, p_cells_fade_at_every_place) {
    constexpr std::uint64_t kCells = 70;
    constexpr std::uint64_t kRow = 5;
    std::array<unsigned, kCells> faded{};
    for (std::uint64_t trial = 0; trial < 2000; ++trial) {
        Stable i(StableSpec{.m = kCells, .k = 1, .max = 255, .P = kRow, .seed = trial});
        std::memset(i.memory.span().data(), 9, kCells);
        i.filter.insert(remix(trial, 0));
        unsigned rows = 0;
        for (std::size_t cell = 0; cell < kCells; ++cell) {
            const auto value = static_cast<unsigned>(i.memory.span()[cell]);
            faded[cell] += value == 8 ? 1 : 0;
            rows += value == 8 ? 1 : 0;
            ASSERT_TRUE(value == 8 || value == 9 || value == 255);
        }
        ASSERT_TRUE(rows == kRow || rows == kRow - 1);  // one of them may be the digest's
    }
    for (const unsigned times : faded) {
        EXPECT_GT(times, 0U);
    }
}

TEST(stable_bloom, clear_forgets) {
    Stable i(StableSpec{.m = 1000, .k = 4, .max = 3, .P = 10});
    i.filter.insert(42);
    i.filter.clear();
    EXPECT_FALSE(i.filter.query(42));
}

TEST(stable_bloom, echo_is_inserted_only_under_refresh) {
    for (const EchoPolicy policy : {EchoPolicy::kFixed, EchoPolicy::kRefresh}) {
        Stable i(StableSpec{.m = 1000, .k = 4, .max = 3, .P = 10, .policy = policy});
        EXPECT_FALSE(i.filter.test_and_insert(42));
        EXPECT_TRUE(i.filter.test_and_insert(42));
        EXPECT_EQ(i.filter.counters().insertions, policy == EchoPolicy::kFixed ? 1U : 2U);
    }
}

TEST(stable_bloom, advance_does_nothing) {
    Stable i(StableSpec{.m = 1000, .k = 4, .max = 3, .P = 10});
    i.filter.insert(42);
    i.filter.advance({.now = 1000, .generation = 1000});
    EXPECT_TRUE(i.filter.query(42));
}

TEST(stable_bloom, burst_is_a_sequence) {
    expect_burst_is_a_sequence<StableBloom, StableParams>(
        StableSpec{.m = 2000, .k = 4, .max = 3, .P = 10});
}

}  // namespace
}  // namespace unecho::test::windows_test
