// SPDX-License-Identifier: BSD-3-Clause
#include "filters/window/segmented/apbbf.h"

#include <algorithm>
#include <array>
#include <bit>
#include <random>

#include <gtest/gtest.h>

#include "support/instance.h"

namespace unecho::filter::apbbf_test {
namespace {

std::string message(const ApbbfSpec& spec) {
    return test::message<ApbbfParams>(spec);
}

TEST(apbbf_params, limits_are_named) {
    EXPECT_EQ(message({.k = 1, .l = 1, .B = 64, .b = 1, .blocks = 1, .spares = 0}), "valid");
    EXPECT_EQ(message({.k = 3, .l = 8, .B = 512, .b = 16, .blocks = 1000003}), "valid");
    EXPECT_EQ(message({.k = 3, .l = 8, .B = 64, .b = 16, .blocks = 1}), "valid");
    EXPECT_EQ(message({.k = 3, .l = 8, .B = 32, .b = 4, .blocks = 1}),
              "apbbf: B = 32; allowed: 64, 128, 256, 512");
    EXPECT_EQ(message({.k = 3, .l = 8, .B = 64, .b = 17, .blocks = 1}),
              "apbbf: b = 17; allowed with B = 64: 1 to 16");
    EXPECT_EQ(message({.k = 3, .l = 8, .b = 0, .blocks = 1}),
              "apbbf: b = 0; allowed with B = 512: 1 to 16");
    EXPECT_EQ(message({.k = 3, .l = 8, .b = 8, .blocks = 0}),
              "apbbf: blocks = 0; allowed: 1 to 1099511627776");
    EXPECT_EQ(message({.k = 3, .l = 8, .b = 8, .blocks = (std::uint64_t{1} << 40) + 1}),
              "apbbf: blocks = 1099511627777; allowed: 1 to 1099511627776");
    EXPECT_EQ(message({.k = 3, .l = 8, .B = 64, .b = 8, .blocks = (std::uint64_t{1} << 43) + 1}),
              "apbbf: blocks = 8796093022209; allowed: 1 to 8796093022208");
    EXPECT_EQ(message({.k = 0, .l = 8, .b = 8, .blocks = 1}), "apbbf: k = 0; allowed: 1 to 127");
    EXPECT_EQ(message({.k = 3, .l = 8, .b = 8, .blocks = std::uint64_t{1} << 40}),
              "apbbf: 13 segments of 70368744177664 bytes; allowed: 2^46 bytes in all");
}

TEST(apbbf_params, every_missing_isa_is_refused) {
    for (const Isa isa : kEveryIsa) {
        const std::string answer = message({.k = 1, .l = 1, .b = 8, .blocks = 1, .isa = isa});
        if (available(isa)) {
            EXPECT_EQ(answer, "valid");
        } else {
            EXPECT_EQ(answer.find("apbbf: isa = " + std::string(name_of(isa))), 0u) << answer;
        }
    }
}

TEST(apbbf_params, bytes_are_whole_lines_for_all_segments) {
    const std::uint64_t kRing = RingGeometry{}.bytes();
    const auto bytes = [](const ApbbfSpec& spec) { return Apbbf::bytes(*ApbbfParams::make(spec)); };
    EXPECT_EQ(bytes({.k = 3, .l = 8, .B = 512, .b = 8, .blocks = 10}), 13u * 640 + kRing);
    EXPECT_EQ(bytes({.k = 3, .l = 8, .B = 64, .b = 4, .blocks = 9, .spares = 0}),
              11u * 128 + kRing);
}

TEST(block_shape, set_sets_what_matches_asks) {
    std::mt19937_64 random(2);
    for (const unsigned B : {64u, 128u, 256u, 512u}) {
        for (unsigned b = 1; b <= std::min(16u, B / 4); ++b) {
            const BlockShape shape(B, b);
            for (unsigned round = 0; round < 50; ++round) {
                const std::uint64_t hash = random();
                std::array<std::uint64_t, kMaxBlockBits / 64> block{};
                shape.set(block.data(), hash);
                unsigned ones = 0;
                for (const std::uint64_t word : block) {
                    ones += static_cast<unsigned>(std::popcount(word));
                }
                ASSERT_EQ(ones, b);
                ASSERT_TRUE(shape.matches(block.data(), hash));
                for (unsigned part = 0; part < b; ++part) {
                    const std::uint64_t bit = shape.bit_of(part, hash);
                    block[bit / 64] ^= std::uint64_t{1} << (bit % 64);
                    ASSERT_FALSE(shape.matches(block.data(), hash)) << "part " << part;
                    block[bit / 64] ^= std::uint64_t{1} << (bit % 64);
                }
            }
        }
    }
}

// The fast code sets the bits of the specification.
TEST(word_parts, equals_block_shape) {
    std::mt19937_64 random(3);
    const BlockShape shape(512, 8);
    for (unsigned round = 0; round < 1000; ++round) {
        const std::uint64_t hash = random();
        std::array<std::uint64_t, 8> expected{};
        std::array<std::uint64_t, 8> block{};
        shape.set(expected.data(), hash);
        WordParts::set(block.data(), hash);
        ASSERT_EQ(block, expected);
        ASSERT_TRUE(WordParts::matches(block.data(), hash));
        block[round % 8] = 0;
        ASSERT_FALSE(WordParts::matches(block.data(), hash));
    }
}

}  // namespace
}  // namespace unecho::filter::apbbf_test
