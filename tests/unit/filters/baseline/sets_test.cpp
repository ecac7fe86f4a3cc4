// SPDX-License-Identifier: BSD-3-Clause
// Baseline filters for a set: plain, partitioned, blocked, word-sized and counting Bloom filters.
#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "filters/papers/blocked_bloom.h"
#include "filters/papers/bloom.h"
#include "filters/papers/counting_bloom.h"
#include "filters/papers/one_mem_bloom.h"
#include "filters/papers/partitioned_bloom.h"
#include "support/instance.h"
#include "support/seed.h"

namespace unecho::test::sets_test {
namespace {

using namespace filter::baseline;

template <typename FilterType, typename ParamsType>
struct Kind {
    using Filter = FilterType;
    using Params = ParamsType;
    using Instance = FilterInstance<Filter, Params>;
};

template <typename K>
class set_filter : public testing::Test {};
using Kinds =
    testing::Types<Kind<Bloom, BloomParams>, Kind<PartitionedBloom, PartitionedBloomParams>,
                   Kind<BlockedBloom, BlockedBloomParams>, Kind<OneMemBloom, OneMemBloomParams>,
                   Kind<CountingBloom, CountingBloomParams>>;
TYPED_TEST_SUITE(set_filter, Kinds);

// Every layout allows multiples of 512 k.
template <typename K, typename Function>
void for_each_geometry(Function function) {
    for (unsigned k = 1; k <= kMaxHashes; ++k) {
        for (const std::uint64_t lines : {1, 3, 20}) {
            const BaselineSpec spec{.m = 512 * k * lines, .k = k};
            SCOPED_TRACE("k " + std::to_string(k) + " lines " + std::to_string(lines));
            typename K::Instance instance(spec);
            function(instance);
        }
    }
}

TYPED_TEST(set_filter, inserted_digests_always_match) {
    for_each_geometry<TypeParam>([](auto& i) {
        std::mt19937_64 random(seed());
        std::vector<Digest> digests(i.params.m() / i.params.k() * 2);  // beyond its capacity
        for (Digest& digest : digests) {
            digest = random();
            i.filter.prefetch(digest);
            i.filter.insert(digest);
        }
        for (const Digest digest : digests) {
            ASSERT_TRUE(i.filter.query(digest));
        }
    });
}

TYPED_TEST(set_filter, clear_forgets_everything) {
    for_each_geometry<TypeParam>([](auto& i) {
        for (Digest digest = 0; digest < i.params.m(); ++digest) {
            i.filter.insert(remix(digest, 0));
        }
        i.filter.clear();
        const auto memory = i.memory.span();
        ASSERT_TRUE(std::all_of(memory.begin(), memory.end(),
                                [](std::byte byte) { return byte == std::byte{0}; }));
    });
}

TYPED_TEST(set_filter, k_has_limits) {
    using Params = typename TypeParam::Params;
    const std::string name(message<Params>(BaselineSpec{.m = 4096, .k = 0}));
    EXPECT_NE(name.find(": k = 0; allowed: 1 to 32"), std::string::npos) << name;
    EXPECT_EQ(message<Params>(BaselineSpec{.m = 4096, .k = 1}), "valid");
    EXPECT_EQ(message<Params>(BaselineSpec{.m = 4096, .k = 32}), "valid");
    EXPECT_NE(message<Params>(BaselineSpec{.m = 4096, .k = 33}), "valid");
    EXPECT_NE(message<Params>(BaselineSpec{.m = 4096, .k = ~0u}), "valid");
}

template <typename Params>
std::string with_m(std::uint64_t m, unsigned k = 4) {
    return message<Params>(BaselineSpec{.m = m, .k = k});
}

TEST(set_params, m_has_limits) {
    constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
    EXPECT_EQ(with_m<BloomParams>(64), "valid");
    EXPECT_EQ(with_m<BloomParams>(65), "valid");
    EXPECT_EQ(with_m<BloomParams>(std::uint64_t{1} << 49), "valid");
    EXPECT_EQ(with_m<BloomParams>(63), "bloom: m = 63 bits; allowed: 64 to 562949953421312");
    EXPECT_EQ(with_m<BloomParams>((std::uint64_t{1} << 49) + 1),
              "bloom: m = 562949953421313 bits; allowed: 64 to 562949953421312");
    EXPECT_EQ(with_m<CountingBloomParams>(kAll),
              "counting bloom: m = 18446744073709551615 counters; allowed: 64 to 140737488355328");
    EXPECT_EQ(with_m<BlockedBloomParams>(64),
              "blocked bloom: m = 64 bits; allowed: 512 to 562949953421312");
    EXPECT_EQ(with_m<BlockedBloomParams>(513),
              "blocked bloom: m = 513 bits; allowed: multiples of 512");
    EXPECT_EQ(with_m<OneMemBloomParams>(100), "1membf: m = 100 bits; allowed: multiples of 64");
    EXPECT_EQ(with_m<OneMemBloomParams>(128), "valid");
    EXPECT_EQ(with_m<PartitionedBloomParams>(100, 7),
              "partitioned bloom: m = 100 bits; allowed: multiples of 7 (k)");
    EXPECT_EQ(with_m<PartitionedBloomParams>(105, 7), "valid");
}

TEST(set_params, bytes_are_whole_lines) {
    EXPECT_EQ(Bloom::bytes(*BloomParams::make({.m = 512, .k = 3})), 64U);
    EXPECT_EQ(Bloom::bytes(*BloomParams::make({.m = 513, .k = 3})), 128U);
    EXPECT_EQ(CountingBloom::bytes(*CountingBloomParams::make({.m = 512, .k = 3})), 256U);
    EXPECT_EQ(OneMemBloom::bytes(*OneMemBloomParams::make({.m = 64, .k = 3})), 64U);
}

using Counting = FilterInstance<CountingBloom, CountingBloomParams>;

TEST(counting_bloom, erased_digest_is_gone_and_leaves_nothing) {
    for (const unsigned k : {1u, 4u, 9u}) {
        Counting i(BaselineSpec{.m = 100, .k = k});
        for (Digest digest = 0; digest < 3; ++digest) {
            i.filter.insert(remix(digest, 0));
        }
        for (Digest digest = 0; digest < 3; ++digest) {
            EXPECT_TRUE(i.filter.erase(remix(digest, 0)));
        }
        for (const std::byte byte : i.memory.span()) {
            ASSERT_EQ(byte, std::byte{0});
        }
    }
}

TEST(counting_bloom, digest_that_cannot_be_in_is_not_erased) {
    Counting i(BaselineSpec{.m = 1000, .k = 5});
    i.filter.insert(42);
    EXPECT_FALSE(i.filter.erase(43));
    EXPECT_TRUE(i.filter.query(42));
}

TEST(counting_bloom, counter_sticks_at_15) {
    Counting i(BaselineSpec{.m = 100'000, .k = 5});
    for (unsigned n = 0; n < 14; ++n) {
        i.filter.insert(42);
    }
    for (unsigned n = 0; n < 14; ++n) {
        ASSERT_TRUE(i.filter.erase(42));
    }
    EXPECT_FALSE(i.filter.query(42));
    for (unsigned n = 0; n < 15; ++n) {
        i.filter.insert(42);
    }
    for (unsigned n = 0; n < 40; ++n) {
        ASSERT_TRUE(i.filter.erase(42)) << n;
    }
    EXPECT_TRUE(i.filter.query(42));
}

// The contract forbids such erasures, but counters must not wrap. Digests that match by accident,
// many with equal positions, are erased until none of them matches.
TEST(counting_bloom, wrong_erasures_stop_at_zero) {
    SCOPED_TRACE(seed_note());
    std::mt19937_64 random(seed());
    Counting i(BaselineSpec{.m = 64, .k = 32});
    for (unsigned n = 0; n < 3; ++n) {
        i.filter.insert(random());
    }
    unsigned erased = 0;
    for (unsigned n = 0; n < 100'000; ++n) {
        erased += i.filter.erase(random()) ? 1 : 0;
    }
    EXPECT_GT(erased, 0U);
    unsigned total = 0;
    for (const std::byte byte : i.memory.span()) {
        total += static_cast<unsigned>(byte >> 4) + static_cast<unsigned>(byte & std::byte{15});
    }
    EXPECT_LT(total, 3U * 32);
}

// Random insertions, and erasures of present digests: no false negative, even when saturated.
TEST(counting_bloom, nothing_inserted_is_missed_while_others_go) {
    SCOPED_TRACE(seed_note());
    std::mt19937_64 random(seed());
    for (const std::uint64_t m : {64U, 200U, 5000U}) {
        Counting i(BaselineSpec{.m = m, .k = 3});
        std::multiset<Digest> in;
        for (unsigned step = 0; step < 20'000; ++step) {
            if (in.empty() || in.size() < 400 - random() % 400) {
                const Digest digest = remix(random() % 100, 0);
                i.filter.insert(digest);
                in.insert(digest);
            } else {
                const auto victim = in.lower_bound(random() % *in.rbegin());
                ASSERT_TRUE(i.filter.erase(*victim));
                in.erase(victim);
            }
            if (!in.empty()) {
                ASSERT_TRUE(i.filter.query(*in.lower_bound(random() % *in.rbegin())));
            }
        }
    }
}

}  // namespace
}  // namespace unecho::test::sets_test
