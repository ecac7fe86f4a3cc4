// SPDX-License-Identifier: BSD-3-Clause
#include "filters/window/segmented/shbf_x_window.h"

#include <gtest/gtest.h>

#include "support/shbf_filters.h"

namespace unecho::filter::shbf_x_window_test {
namespace {

using Window = test::Shifting<ShbfXWindow, ShbfXWindowParams>;

// Return a spec in which nothing matches by chance.
ShbfXWindowSpec roomy(unsigned l, EchoPolicy policy = EchoPolicy::kFixed) {
    return {.k = 8, .l = l, .m = 100'003, .c = 57, .policy = policy};
}

void go_to(Window& i, std::uint64_t generation) {
    i.filter.advance({.generation = generation});
}

std::string message(const ShbfXWindowSpec& spec) {
    return test::message<ShbfXWindowParams>(spec);
}

TEST(shbf_x_window_params, limits_are_named) {
    EXPECT_EQ(message({.k = 1, .l = 1, .m = 1, .c = 1, .spares = 0}), "valid");
    EXPECT_EQ(message({.k = 64, .l = 127, .m = 4096, .c = 57, .spares = 32}), "valid");
    EXPECT_EQ(message({.k = 1, .l = 1, .m = 0, .c = 1}),
              "shbf_x_window: m = 0 bits; allowed: 1 to 2^45");
    EXPECT_EQ(message({.k = 0, .l = 1, .m = 9, .c = 1}), "shbf_x_window: k = 0; allowed: 1 to 64");
    EXPECT_EQ(message({.k = 65, .l = 1, .m = 9, .c = 1}),
              "shbf_x_window: k = 65; allowed: 1 to 64");
    EXPECT_EQ(message({.k = 1, .l = 1, .m = 9, .c = 0}), "shbf_x_window: c = 0; allowed: 1 to 57");
    EXPECT_EQ(message({.k = 1, .l = 1, .m = 9, .c = 58}),
              "shbf_x_window: c = 58; allowed: 1 to 57");
    EXPECT_EQ(message({.k = 1, .l = 0, .m = 9, .c = 1}), "shbf_x_window: l = 0; allowed: 1 to 127");
    EXPECT_EQ(message({.k = 1, .l = 128, .m = 9, .c = 1}),
              "shbf_x_window: l = 128; allowed: 1 to 127");
    EXPECT_EQ(message({.k = 1, .l = 1, .m = 9, .c = 1, .spares = 33}),
              "shbf_x_window: spares = 33; allowed: 0 to 32");
    EXPECT_EQ(message({.k = 1, .l = 127, .m = std::uint64_t{1} << 45, .c = 1}),
              "shbf_x_window: 130 segments of 4398046511168 bytes; allowed: 2^46 bytes in all");
}

// 1 + l segments and the spares. The last position needs a window of eight bytes.
TEST(shbf_x_window_params, bytes_are_those_of_all_segments_in_whole_lines) {
    const std::uint64_t kRing = RingGeometry{}.bytes();
    const auto bytes = [](std::uint64_t m) {
        return ShbfXWindow::bytes(
            *ShbfXWindowParams::make({.k = 3, .l = 4, .m = m, .c = 5, .spares = 2}));
    };
    EXPECT_EQ(bytes(456), 7U * 64 + kRing);
    EXPECT_EQ(bytes(457), 7U * 128 + kRing);
}

// Bits of smaller multiplicities stay: each packet that passes sets k more, an echo none.
TEST(shbf_x_window, packet_that_passes_sets_k_bits_and_an_echo_none) {
    Window i(roomy(2));
    for (unsigned packet = 1; packet <= 9; ++packet) {
        EXPECT_FALSE(i.filter.test_and_insert_first(42, 9));
        EXPECT_EQ(i.set_bits(), 8 * packet);
        EXPECT_EQ(i.filter.counters().insertions, packet);
    }
    EXPECT_TRUE(i.filter.test_and_insert_first(42, 9));
    go_to(i, 1);
    EXPECT_TRUE(i.filter.test_and_insert_first(42, 9));
    EXPECT_EQ(i.set_bits(), 8 * 9U);
    EXPECT_EQ(i.filter.counters().insertions, 9U);
}

// A dropped packet writes the flow's count where it is missing: once in each generation.
TEST(shbf_x_window, refreshing_echo_sets_k_bits_once_in_a_generation) {
    Window i(roomy(2, EchoPolicy::kRefresh));
    i.filter.test_and_insert_first(42, 2);
    i.filter.test_and_insert_first(42, 2);
    EXPECT_TRUE(i.filter.test_and_insert_first(42, 2));
    EXPECT_EQ(i.set_bits(), 16U);
    go_to(i, 1);
    EXPECT_TRUE(i.filter.test_and_insert_first(42, 2));
    EXPECT_EQ(i.set_bits(), 24U);
    EXPECT_TRUE(i.filter.test_and_insert_first(42, 2));
    EXPECT_EQ(i.set_bits(), 24U);
    EXPECT_EQ(i.filter.counters().insertions, 5U);
}

// The youngest segment's count alone, or a sum, would differ.
TEST(shbf_x_window, refreshed_count_is_the_largest_of_all_segments) {
    Window i(roomy(4, EchoPolicy::kRefresh));
    for (unsigned packet = 1; packet <= 5; ++packet) {
        go_to(i, packet);
        i.filter.insert(42, 9);
        EXPECT_EQ(i.filter.count(42, 9), packet);
    }
    go_to(i, 8);
    EXPECT_EQ(i.filter.count(42, 9), 5U);
}

TEST(shbf_x_window, insertions_beyond_n_stay_at_n) {
    for (const EchoPolicy policy : {EchoPolicy::kFixed, EchoPolicy::kRefresh}) {
        Window i(roomy(1, policy));
        for (unsigned packet = 0; packet < 9; ++packet) {
            i.filter.insert(42, 3);
        }
        EXPECT_EQ(i.set_bits(), 24U);
        EXPECT_EQ(i.filter.count(42, 3), 3U);
        EXPECT_EQ(i.filter.count(42, 57), 3U);
        EXPECT_EQ(i.filter.counters().insertions, 9U);
    }
}

// If the youngest segment's answer is too large, the next count is larger still. The flow then gets
// fewer than n packets, but never more.
TEST(shbf_x_window, false_candidate_is_built_upon) {
    constexpr std::uint64_t kM = 64;
    const auto position = [](Digest digest) { return first_bit_of(remix(digest, 0), 0, kM); };
    Digest behind = 2;
    while (position(behind) != position(1) + 2) {
        ++behind;
    }
    Window i({.k = 1, .l = 1, .m = kM, .c = 5});
    EXPECT_FALSE(i.filter.test_and_insert_first(behind, 5));
    EXPECT_EQ(i.filter.count(1, 5), 3U);
    EXPECT_EQ(i.filter.count(1, 2), 0U);  // multiplicities beyond n are not read
    EXPECT_FALSE(i.filter.test_and_insert_first(1, 5));
    EXPECT_EQ(i.filter.count(1, 5), 4U);
    EXPECT_FALSE(i.filter.test_and_insert_first(1, 5));
    EXPECT_TRUE(i.filter.test_and_insert_first(1, 5));
}

TEST(shbf_x_window, stretches_at_the_end_of_a_segment_lie_inside) {
    constexpr std::uint64_t kM = 456;
    unsigned met = 0;
    for (Digest digest = 1; digest < 5'000; ++digest) {
        if (first_bit_of(remix(digest, 0), 0, kM) == kM - 1) {
            Window i({.k = 1, .l = 1, .m = kM, .c = 57, .spares = 0});
            for (unsigned packet = 0; packet < 57; ++packet) {
                ASSERT_FALSE(i.filter.test_and_insert_first(digest, 57));
            }
            EXPECT_TRUE(i.filter.test_and_insert_first(digest, 57));
            EXPECT_EQ(i.memory.span()[56], std::byte{0x80});
            EXPECT_EQ(i.memory.span()[63], std::byte{0xFF});
            ++met;
        }
    }
    EXPECT_GT(met, 0U);
}

TEST(shbf_x_window, params_are_those_given) {
    const Window i({.k = 3, .l = 4, .m = 500, .c = 7, .policy = EchoPolicy::kRefresh});
    EXPECT_EQ(i.filter.params().k(), 3U);
    EXPECT_EQ(i.filter.params().l(), 4U);
    EXPECT_EQ(i.filter.params().m(), 500U);
    EXPECT_EQ(i.filter.params().c(), 7U);
    EXPECT_EQ(i.filter.params().policy(), EchoPolicy::kRefresh);
}

}  // namespace
}  // namespace unecho::filter::shbf_x_window_test
