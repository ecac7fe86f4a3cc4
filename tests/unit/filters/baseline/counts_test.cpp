// SPDX-License-Identifier: BSD-3-Clause
// Baseline filters that count: spectral Bloom filters and the Count-Min sketch.
#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "filters/papers/count_min.h"
#include "filters/papers/spectral_bloom.h"
#include "support/instance.h"
#include "support/seed.h"

namespace unecho::test::counts_test {
namespace {

using namespace filter::baseline;

using Ms = FilterInstance<SpectralMs, SpectralParams>;
using Mi = FilterInstance<SpectralMi, SpectralParams>;
using Sketch = FilterInstance<CountMin, CountMinParams>;

// Return a digest from a skewed distribution: low numbers are frequent, high ones rare.
Digest skewed(std::mt19937_64& random) {
    return remix(random() % (random() % 500 + 1), 0);
}

std::vector<Count> counts_in(const FilterMemory& memory) {
    std::vector<Count> counts(memory.span().size() / sizeof(Count));
    std::memcpy(counts.data(), memory.span().data(), memory.span().size());
    return counts;
}

TEST(spectral_params, limits_are_named) {
    const auto with = [](std::uint64_t m, unsigned k) {
        return message<SpectralParams>(BaselineSpec{.m = m, .k = k});
    };
    EXPECT_EQ(with(64, 1), "valid");
    EXPECT_EQ(with(64, 33), "spectral bloom: k = 33; allowed: 1 to 32");
    EXPECT_EQ(with(63, 1), "spectral bloom: m = 63 counters; allowed: 64 to 17592186044416");
    EXPECT_EQ(SpectralMs::bytes(*SpectralParams::make({.m = 64, .k = 1})), 256U);
}

TEST(spectral, roomy_filters_count_exactly) {
    SCOPED_TRACE(seed_note());
    std::mt19937_64 random(seed());
    Ms ms(BaselineSpec{.m = 1'000'000, .k = 8});
    Mi mi(BaselineSpec{.m = 1'000'000, .k = 8});
    std::map<Digest, unsigned> counts;
    for (unsigned n = 0; n < 5000; ++n) {
        const Digest digest = skewed(random);
        ms.filter.prefetch(digest);
        ms.filter.insert(digest);
        mi.filter.insert(digest);
        ++counts[digest];
    }
    for (const auto& [digest, count] : counts) {
        ASSERT_EQ(ms.filter.estimate(digest), count);
        ASSERT_EQ(mi.filter.estimate(digest), count);
    }
    EXPECT_EQ(ms.filter.estimate(random()), 0U);
    EXPECT_EQ(mi.filter.estimate(random()), 0U);
    ms.filter.clear();
    mi.filter.clear();
    EXPECT_EQ(ms.filter.estimate(counts.begin()->first), 0U);
    EXPECT_EQ(mi.filter.estimate(counts.begin()->first), 0U);
}

// At any load: true count <= minimum increase <= minimum selection.
TEST(spectral, minimum_increase_lies_between_truth_and_minimum_selection) {
    SCOPED_TRACE(seed_note());
    for (const std::uint64_t m : {64U, 300U, 900U}) {
        for (const unsigned k : {1U, 2U, 5U, 9U}) {
            std::mt19937_64 random(seed());
            Ms ms(BaselineSpec{.m = m, .k = k});
            Mi mi(BaselineSpec{.m = m, .k = k});
            std::map<Digest, unsigned> counts;
            for (unsigned n = 0; n < 3000; ++n) {
                const Digest digest = skewed(random);
                ms.filter.insert(digest);
                mi.filter.insert(digest);
                ++counts[digest];
            }
            bool differ = false;
            for (const auto& [digest, count] : counts) {
                ASSERT_GE(mi.filter.estimate(digest), count);
                ASSERT_GE(ms.filter.estimate(digest), mi.filter.estimate(digest));
                differ = differ || ms.filter.estimate(digest) > mi.filter.estimate(digest);
            }
            EXPECT_EQ(differ, k > 1) << m << " " << k;
        }
    }
}

TEST(spectral, erasure_undoes_an_insertion) {
    SCOPED_TRACE(seed_note());
    std::mt19937_64 random(seed());
    for (const std::uint64_t m : {64U, 300U, 5000U}) {
        Ms i(BaselineSpec{.m = m, .k = 5});
        std::map<Digest, unsigned> counts;
        for (unsigned n = 0; n < 5000; ++n) {
            const Digest digest = skewed(random);
            if (random() % 2 == 0) {
                i.filter.insert(digest);
                ++counts[digest];
            } else if (counts[digest] > 0) {
                ASSERT_TRUE(i.filter.erase(digest));
                --counts[digest];
            }
            ASSERT_GE(i.filter.estimate(digest), counts[digest]);
        }
        for (auto& [digest, count] : counts) {
            for (; count > 0; --count) {
                ASSERT_TRUE(i.filter.erase(digest));
            }
        }
        for (const std::byte byte : i.memory.span()) {
            ASSERT_EQ(byte, std::byte{0});
        }
        EXPECT_FALSE(i.filter.erase(42));
    }
}

// The contract forbids such erasures, but counters must not wrap (see counting_bloom).
TEST(spectral, wrong_erasures_stop_at_zero) {
    SCOPED_TRACE(seed_note());
    std::mt19937_64 random(seed());
    Ms i(BaselineSpec{.m = 64, .k = 32});
    for (unsigned n = 0; n < 3; ++n) {
        i.filter.insert(random());
    }
    unsigned erased = 0;
    for (unsigned n = 0; n < 100'000; ++n) {
        erased += i.filter.erase(random()) ? 1 : 0;
    }
    EXPECT_GT(erased, 0U);
    for (const Count count : counts_in(i.memory)) {
        ASSERT_LT(count, 3U * 32);
    }
}

// Counters at their largest value stay there.
template <typename Instance>
void fill_counters(const Instance& i, std::uint8_t low) {
    const auto memory = i.memory.span();
    std::fill(memory.begin(), memory.end(), std::byte{0xFF});
    for (std::size_t at = 0; at < memory.size(); at += 4) {
        memory[at] = std::byte{low};
    }
}

TEST(spectral, counters_saturate) {
    Ms ms(BaselineSpec{.m = 64, .k = 1});
    Mi mi(BaselineSpec{.m = 64, .k = 1});
    fill_counters(ms, 0xFE);
    fill_counters(mi, 0xFE);
    for (unsigned n = 0; n < 3; ++n) {
        ms.filter.insert(42);
        mi.filter.insert(42);
        EXPECT_EQ(ms.filter.estimate(42), kMaxCount);
        EXPECT_EQ(mi.filter.estimate(42), kMaxCount);
    }
    EXPECT_TRUE(ms.filter.erase(42));
    EXPECT_EQ(ms.filter.estimate(42), kMaxCount);
}

TEST(count_min_params, limits_are_named) {
    const auto with = [](std::uint64_t w, unsigned d) {
        return message<CountMinParams>(CountMinSpec{.w = w, .d = d});
    };
    EXPECT_EQ(with(1, 1), "valid");
    EXPECT_EQ(with(1, 32), "valid");
    EXPECT_EQ(with(0, 1), "count-min: w = 0; allowed: 1 to 17592186044416");
    EXPECT_EQ(with(~std::uint64_t{0}, 4),
              "count-min: w = 18446744073709551615; allowed: 1 to 4398046511104");
    EXPECT_EQ(with(1, 0), "count-min: d = 0; allowed: 1 to 32");
    EXPECT_EQ(with(1, 33), "count-min: d = 33; allowed: 1 to 32");
}

TEST(count_min, roomy_sketches_count_exactly) {
    for (const bool conservative : {false, true}) {
        Sketch i(CountMinSpec{.w = 100'000, .d = 6, .conservative = conservative});
        i.filter.prefetch(1);
        i.filter.insert(1);
        i.filter.insert(1, 5);
        i.filter.insert(2, 1000);
        i.filter.insert(2, 0);
        EXPECT_EQ(i.filter.estimate(1), 6U);
        EXPECT_EQ(i.filter.estimate(2), 1000U);
        EXPECT_EQ(i.filter.estimate(3), 0U);
        i.filter.clear();
        EXPECT_EQ(i.filter.estimate(1), 0U);
    }
}

TEST(count_min, conservative_update_lies_between_truth_and_plain) {
    SCOPED_TRACE(seed_note());
    for (const std::uint64_t w : {1U, 2U, 17U, 100U}) {
        for (const unsigned d : {1U, 2U, 5U}) {
            std::mt19937_64 random(seed());
            Sketch plain(CountMinSpec{.w = w, .d = d});
            Sketch careful(CountMinSpec{.w = w, .d = d, .conservative = true});
            std::map<Digest, Count> counts;
            Count total = 0;
            for (unsigned n = 0; n < 3000; ++n) {
                const Digest digest = skewed(random);
                const auto count = static_cast<Count>(random() % 4);
                plain.filter.insert(digest, count);
                careful.filter.insert(digest, count);
                counts[digest] += count;
                total += count;
            }
            bool differ = false;
            for (const auto& [digest, count] : counts) {
                ASSERT_GE(careful.filter.estimate(digest), count);
                ASSERT_GE(plain.filter.estimate(digest), careful.filter.estimate(digest));
                ASSERT_LE(plain.filter.estimate(digest), total);
                differ = differ || plain.filter.estimate(digest) > careful.filter.estimate(digest);
            }
            EXPECT_EQ(differ, d > 1 && w > 1) << w << " " << d;
        }
    }
}

TEST(count_min, counters_saturate) {
    for (const bool conservative : {false, true}) {
        Sketch i(CountMinSpec{.w = 16, .d = 2, .conservative = conservative});
        fill_counters(i, 0xFE);
        i.filter.insert(42, 5);
        EXPECT_EQ(i.filter.estimate(42), kMaxCount);
        i.filter.insert(42, kMaxCount);
        EXPECT_EQ(i.filter.estimate(42), kMaxCount);
    }
}

}  // namespace
}  // namespace unecho::test::counts_test
