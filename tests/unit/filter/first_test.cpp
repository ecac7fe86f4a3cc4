// SPDX-License-Identifier: BSD-3-Clause
#include "filter/first.h"

#include <gtest/gtest.h>

#include "filter/apbf.h"
#include "filter/exact.h"
#include "support/filter_memory.h"

namespace unecho::filter {
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

TEST(first, one_is_the_plain_filter) {
    Instance i;
    EXPECT_FALSE(test_and_insert_first(i.filter, 42, 1));
    EXPECT_TRUE(i.filter.test_and_insert(42));
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

TEST(first, burst_is_the_sequence) {
    for (const unsigned n : {1u, 2u, 3u, 9u}) {
        Instance burst;
        Instance single;
        Digest digests[kMaxBurst];
        for (unsigned d = 0; d < kMaxBurst; ++d) {
            digests[d] = d % 7;
        }
        for (int round = 0; round < 3; ++round) {
            std::uint64_t expected = 0;
            for (unsigned d = 0; d < kMaxBurst; ++d) {
                expected |= std::uint64_t{test_and_insert_first(single.filter, digests[d], n)} << d;
            }
            EXPECT_EQ(test_and_insert_first_burst(burst.filter, digests, n), expected);
        }
        EXPECT_EQ(test_and_insert_first_burst(burst.filter, {}, n), 0u);
    }
}

}  // namespace
}  // namespace unecho::filter
