// SPDX-License-Identifier: BSD-3-Clause
#include "filters/first_packets.h"

#include <vector>

#include <gtest/gtest.h>

#include "filters/window/segmented/apbf.h"
#include "support/filter_memory.h"

namespace unecho::filter::first_test {
namespace {

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
