// SPDX-License-Identifier: BSD-3-Clause
#include "filters/papers/ibf.h"

#include <random>
#include <set>

#include <gtest/gtest.h>

#include "support/filter_memory.h"
#include "support/seed.h"

namespace unecho::test::ibf_test {
namespace {

using namespace filter::baseline;

struct Instance {
    Instance(const BaselineSpec& one, const BaselineSpec& two)
        : first(*BloomParams::make(one)),
          second(*BloomParams::make(two)),
          memory(Ibf::bytes(first, second)),
          filter(first, second, memory.span()) {}
    BloomParams first;
    BloomParams second;
    FilterMemory memory;
    Ibf filter;
};

TEST(ibf, answers_name_the_set) {
    Instance i({.m = 100'000, .k = 8}, {.m = 50'000, .k = 8});
    i.filter.insert_first(1);
    i.filter.insert_second(2);
    i.filter.insert_first(3);
    i.filter.insert_second(3);
    i.filter.prefetch(1);
    EXPECT_EQ(i.filter.query(0), Association::kNeither);
    EXPECT_EQ(i.filter.query(1), Association::kFirst);
    EXPECT_EQ(i.filter.query(2), Association::kSecond);
    EXPECT_EQ(i.filter.query(3), Association::kBoth);
    i.filter.clear();
    for (Digest digest = 1; digest <= 3; ++digest) {
        EXPECT_EQ(i.filter.query(digest), Association::kNeither);
    }
}

TEST(ibf, clear_answers_are_right_however_full) {
    SCOPED_TRACE(seed_note());
    for (const std::uint64_t m : {64U, 100U, 1000U, 3000U}) {
        std::mt19937_64 random(seed());
        Instance i({.m = m, .k = 4}, {.m = m + 7, .k = 3});
        std::set<Digest> first;
        std::set<Digest> second;
        for (unsigned n = 0; n < 400; ++n) {
            const Digest digest = random();
            const std::uint64_t part = random() % 3;
            if (part != 1) {
                i.filter.insert_first(digest);
                first.insert(digest);
            }
            if (part != 0) {
                i.filter.insert_second(digest);
                second.insert(digest);
            }
        }
        for (const Digest digest : first) {
            const Association answer = i.filter.query(digest);
            ASSERT_TRUE(answer == Association::kBoth ||
                        (answer == Association::kFirst && second.count(digest) == 0));
        }
        for (const Digest digest : second) {
            const Association answer = i.filter.query(digest);
            ASSERT_TRUE(answer == Association::kBoth ||
                        (answer == Association::kSecond && first.count(digest) == 0));
        }
    }
}

TEST(ibf, bytes_are_those_of_both) {
    const auto params = [](std::uint64_t m) { return *BloomParams::make({.m = m, .k = 3}); };
    EXPECT_EQ(Ibf::bytes(params(512), params(513)), 192U);
}

}  // namespace
}  // namespace unecho::test::ibf_test
