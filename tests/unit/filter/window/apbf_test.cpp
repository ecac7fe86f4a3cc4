// SPDX-License-Identifier: BSD-3-Clause
#include "filter/window/apbf.h"

#include <gtest/gtest.h>

#include "support/instance.h"

namespace unecho::filter {
namespace {

using Instance = test::FilterInstance<Apbf>;

std::string message(const ApbfSpec& spec) {
    return test::message<ApbfParams>(spec);
}

TEST(apbf_params, limits_are_named) {
    EXPECT_EQ(message({.k = 1, .l = 1, .m = 64, .spares = 0}), "valid");
    EXPECT_EQ(message({.k = 100, .l = 28, .m = 65, .spares = 32}), "valid");
    EXPECT_EQ(message({.k = 0, .l = 3, .m = 64}), "apbf: k = 0; allowed: 1 to 127");
    EXPECT_EQ(message({.k = 128, .l = 1, .m = 64}), "apbf: k = 128; allowed: 1 to 127");
    EXPECT_EQ(message({.k = 3, .l = 0, .m = 64}), "apbf: l = 0; allowed: 1 to 127");
    EXPECT_EQ(message({.k = 64, .l = 65, .m = 64}), "apbf: k + l = 129; allowed: at most 128");
    EXPECT_EQ(message({.k = 3, .l = 3, .m = 63}), "apbf: m = 63 bits; allowed: 64 to 2^49");
    EXPECT_EQ(message({.k = 3, .l = 3, .m = ~std::uint64_t{0}}),
              "apbf: m = 18446744073709551615 bits; allowed: 64 to 2^49");
    EXPECT_EQ(message({.k = 3, .l = 3, .m = 64, .spares = 33}),
              "apbf: spares = 33; allowed: 0 to 32");
    EXPECT_EQ(message({.k = 3, .l = 3, .m = std::uint64_t{1} << 49}),
              "apbf: 8 segments of 70368744177664 bytes; allowed: 2^46 bytes in all");
}

TEST(apbf_params, huge_k_and_l_do_not_wrap) {
    EXPECT_EQ(message({.k = 3, .l = 0xFFFFFFFF, .m = 64}),
              "apbf: l = 4294967295; allowed: 1 to 127");
}

TEST(apbf_params, bytes_are_whole_lines_for_all_segments) {
    const auto bytes = [](const ApbfSpec& spec) { return Apbf::bytes(*ApbfParams::make(spec)); };
    EXPECT_EQ(bytes({.k = 3, .l = 4, .m = 64, .spares = 0}), 7u * 64);
    EXPECT_EQ(bytes({.k = 3, .l = 4, .m = 512, .spares = 2}), 9u * 64);
    EXPECT_EQ(bytes({.k = 3, .l = 4, .m = 513, .spares = 2}), 9u * 128);
}

TEST(apbf, new_then_echo) {
    Instance i({.k = 4, .l = 3, .m = 4096});
    EXPECT_FALSE(i.filter.query(42));
    EXPECT_FALSE(i.filter.test_and_insert(42));
    EXPECT_TRUE(i.filter.query(42));
    EXPECT_TRUE(i.filter.test_and_insert(42));
    EXPECT_FALSE(i.filter.query(43));
    EXPECT_EQ(i.filter.counters().insertions, 1u);
}

TEST(apbf, refresh_counts_echoes_as_insertions) {
    Instance i({.k = 4, .l = 3, .m = 4096, .policy = EchoPolicy::kRefresh});
    i.filter.test_and_insert(42);
    i.filter.test_and_insert(42);
    EXPECT_EQ(i.filter.counters().insertions, 2u);
}

TEST(apbf, remembered_through_generation_l_forgotten_at_l_plus_k) {
    Instance i({.k = 4, .l = 3, .m = 4096});
    i.filter.insert(42);
    for (std::uint64_t generation = 1; generation <= 3; ++generation) {
        i.filter.advance({.generation = generation});
        EXPECT_TRUE(i.filter.query(42)) << generation;
    }
    i.filter.advance({.generation = 7});
    EXPECT_FALSE(i.filter.query(42));
}

TEST(apbf, clear_forgets_and_keeps_time) {
    Instance i({.k = 4, .l = 3, .m = 4096});
    i.filter.advance({.generation = 5});
    i.filter.insert(42);
    i.filter.clear();
    EXPECT_FALSE(i.filter.query(42));
    i.filter.insert(43);
    i.filter.advance({.generation = 8});
    EXPECT_TRUE(i.filter.query(43));
    i.filter.advance({.generation = 12});
    EXPECT_FALSE(i.filter.query(43));
    EXPECT_EQ(i.filter.counters().insertions, 2u);
}

TEST(apbf, counters_tell_shifts_and_inline_clears) {
    Instance i({.k = 2, .l = 2, .m = 64, .spares = 1});
    for (std::uint64_t generation = 1; generation <= 10; ++generation) {
        i.filter.advance({.generation = generation});
    }
    EXPECT_EQ(i.filter.counters().shifts, 10u);
    EXPECT_EQ(i.filter.counters().inline_clears, 7u);
    EXPECT_EQ(i.filter.counters().evicted_early, 0u);
}

TEST(apbf, burst_finds_echoes_within_itself) {
    Instance i({.k = 4, .l = 3, .m = 4096});
    const Digest digests[] = {1, 2, 1, 3, 2, 1};
    EXPECT_EQ(i.filter.test_and_insert_burst(digests), 0b110100u);
    EXPECT_EQ(i.filter.test_and_insert_burst({}), 0u);
    Digest full[kMaxBurst];
    for (unsigned d = 0; d < kMaxBurst; ++d) {
        full[d] = 100 + d;
    }
    EXPECT_EQ(i.filter.test_and_insert_burst(full), 0u);
    EXPECT_EQ(i.filter.test_and_insert_burst(full), ~std::uint64_t{0});
}

}  // namespace
}  // namespace unecho::filter
