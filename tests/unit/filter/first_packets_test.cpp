// SPDX-License-Identifier: BSD-3-Clause
#include "filters/first_packets.h"

#include <vector>

#include <gtest/gtest.h>

#include "filters/window/exact.h"
#include "filters/window/segmented/apbf.h"
#include "support/filter_memory.h"

namespace unecho::filter::first_test {
namespace {

struct Instance {
    explicit Instance(EchoPolicy policy = EchoPolicy::kFixed)
        : params(*ExactParams::make({.entries = 256, .window = 100, .policy = policy})),
          memory(Exact::bytes(params)),
          filter(params, memory.span()) {}
    ExactParams params;
    test::FilterMemory memory;
    Exact filter;
};

TEST(first, n_packets_pass_then_echoes) {
    Instance i;
    EXPECT_FALSE(test_and_insert_first(i.filter, 42, 3));
    EXPECT_FALSE(test_and_insert_first(i.filter, 42, 3));
    EXPECT_FALSE(test_and_insert_first(i.filter, 42, 3));
    EXPECT_TRUE(test_and_insert_first(i.filter, 42, 3));
    EXPECT_FALSE(test_and_insert_first(i.filter, 43, 3));
}

TEST(first, each_slot_lives_for_its_own_window) {
    Instance i;
    for (const Nanoseconds now : {0, 40, 80}) {
        i.filter.advance({.now = now});
        EXPECT_FALSE(test_and_insert_first(i.filter, 42, 3));
    }
    i.filter.advance({.now = 99});
    EXPECT_TRUE(test_and_insert_first(i.filter, 42, 3));
    i.filter.advance({.now = 100});
    EXPECT_FALSE(test_and_insert_first(i.filter, 42, 3));
    EXPECT_TRUE(test_and_insert_first(i.filter, 42, 3));
    i.filter.advance({.now = 140});
    EXPECT_FALSE(test_and_insert_first(i.filter, 42, 3));
}

TEST(first, refresh_drops_until_a_window_of_silence) {
    Instance i(EchoPolicy::kRefresh);
    for (Nanoseconds now = 0; now <= 990; now += 90) {
        i.filter.advance({.now = now});
        EXPECT_EQ(test_and_insert_first(i.filter, 42, 2), now >= 180) << now;
    }
    i.filter.advance({.now = 1090});
    EXPECT_FALSE(test_and_insert_first(i.filter, 42, 2));
}

struct JudgedInstance {
    JudgedInstance()
        : params(*ApbfParams::make({.k = 3, .l = 4, .m = 1 << 14})),
          memory(Apbf::bytes(params)),
          filter(params, memory.span()) {}
    ApbfParams params;
    test::FilterMemory memory;
    Apbf filter;
};

// Only the third match of a flow is checked, against its packet's own limit.
TEST(first, with_limits_the_last_slot_alone_is_judged) {
    JudgedInstance i;
    const std::vector<Digest> digests{1, 1, 1, 1, 1, 2, 1};
    const std::vector<float> limits{0, 0, 0, 0, 1, 0, 0};
    const Answers answers =
        test_and_insert_first_burst(i.filter, digests, 3, ChanceLimits(limits.data()));
    EXPECT_EQ(answers.doubts, 0b1001000U);
    EXPECT_EQ(answers.echoes, 0b0010000U);
    // Three slots of flow 1, one of flow 2, and the two doubts.
    EXPECT_EQ(i.filter.counters().insertions, 6U);
}

TEST(first, with_limits_that_allow_all_is_as_without) {
    JudgedInstance with;
    JudgedInstance without;
    std::vector<Digest> digests;
    for (Digest i = 0; i < kMaxBurst; ++i) {
        digests.push_back(i * i % 11);
    }
    for (unsigned n = 1; n < 5; ++n) {
        const Answers answers =
            test_and_insert_first_burst(with.filter, digests, n, ChanceLimits(1.0F));
        EXPECT_EQ(answers.echoes, test_and_insert_first_burst(without.filter, digests, n));
        EXPECT_EQ(answers.doubts, 0U);
    }
}

}  // namespace
}  // namespace unecho::filter::first_test
