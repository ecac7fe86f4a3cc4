// SPDX-License-Identifier: BSD-3-Clause
#include "filter/window/shbf_window.h"

#include <gtest/gtest.h>

#include "support/instance.h"

namespace unecho::filter {
namespace {

using Instance = test::FilterInstance<ShbfWindow>;

std::string message(const ApshbfSpec& spec) {
    return test::message<ShbfWindowParams>(spec);
}

TEST(apshbf_params, limits_are_named) {
    EXPECT_EQ(message({.k = 1, .l = 1, .m = 1, .b = 2}), "valid");
    EXPECT_EQ(message({.k = 0, .l = 3, .m = 64, .b = 2}), "shbf_window: k = 0; allowed: 1 to 127");
    EXPECT_EQ(message({.k = 3, .l = 0, .m = 64, .b = 2}), "shbf_window: l = 0; allowed: 1 to 127");
    EXPECT_EQ(message({.k = 64, .l = 65, .m = 64, .b = 2}),
              "shbf_window: k + l = 129; allowed: at most 128");
    EXPECT_EQ(message({.k = 3, .l = 3, .m = 0, .b = 2}),
              "shbf_window: m = 0 bits; allowed: 1 to 2^45");
    EXPECT_EQ(message({.k = 3, .l = 3, .m = 64, .b = 3}),
              "shbf_window: b = 3; allowed: multiples of t + 1 = 2 up to 64");
    EXPECT_EQ(message({.k = 3, .l = 3, .m = 64, .b = 0}),
              "shbf_window: b = 0; allowed: multiples of t + 1 = 2 up to 64");
    EXPECT_EQ(message({.k = 3, .l = 3, .m = 64, .b = 6, .t = 2}), "valid");
    EXPECT_EQ(message({.k = 3, .l = 3, .m = 64, .b = 6, .t = 9}),
              "shbf_window: t = 9; allowed: 1 to 8");
    EXPECT_EQ(message({.k = 3, .l = 3, .m = 64, .b = 2, .spares = 33}),
              "shbf_window: spares = 33; allowed: 0 to 32");
}

TEST(shbf_window, new_then_echo) {
    Instance i({.k = 2, .l = 3, .m = 40'000, .b = 8});
    EXPECT_FALSE(i.filter.query(42));
    EXPECT_FALSE(i.filter.test_and_insert(42));
    EXPECT_TRUE(i.filter.query(42));
    EXPECT_TRUE(i.filter.test_and_insert(42));
    EXPECT_FALSE(i.filter.query(43));
    EXPECT_EQ(i.filter.counters().insertions, 1u);
}

TEST(shbf_window, refresh_counts_echoes_as_insertions) {
    Instance i({.k = 2, .l = 3, .m = 40'000, .b = 8, .policy = EchoPolicy::kRefresh});
    i.filter.test_and_insert(42);
    i.filter.test_and_insert(42);
    EXPECT_EQ(i.filter.counters().insertions, 2u);
}

TEST(shbf_window, remembered_through_generation_l_forgotten_at_l_plus_k) {
    Instance i({.k = 2, .l = 3, .m = 40'000, .b = 8});
    i.filter.insert(42);
    for (std::uint64_t generation = 1; generation <= 3; ++generation) {
        i.filter.advance({.generation = generation});
        EXPECT_TRUE(i.filter.query(42)) << generation;
    }
    i.filter.advance({.generation = 5});
    EXPECT_FALSE(i.filter.query(42));
}

TEST(shbf_window, bursts_answer_in_order) {
    Instance i({.k = 2, .l = 3, .m = 40'000, .b = 8});
    const std::array<Digest, 5> digests{1, 2, 1, 3, 2};
    EXPECT_EQ(i.filter.test_and_insert_burst(digests), 0b10100u);
}

}  // namespace
}  // namespace unecho::filter
