// SPDX-License-Identifier: BSD-3-Clause
#include "hash/secret.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include <gtest/gtest.h>

namespace unecho::hash {
namespace {

TEST(Secret, random_secrets_differ_in_every_quarter) {
    const auto a = random_secret();
    const auto b = random_secret();
    ASSERT_TRUE(a.has_value());
    ASSERT_TRUE(b.has_value());
    for (std::size_t at = 0; at < a->bytes.size(); at += 48) {
        const auto* from = a->bytes.data() + at;
        EXPECT_FALSE(std::equal(from, from + 48, b->bytes.data() + at)) << at;
        EXPECT_FALSE(std::all_of(from, from + 48, [](std::uint8_t x) { return x == 0; })) << at;
    }
}

TEST(Secret, same_seed_same_secret) {
    EXPECT_EQ(secret_from_seed(7).bytes, secret_from_seed(7).bytes);
}

TEST(Secret, neighbouring_seeds_differ_in_every_16_bytes) {
    const Secret a = secret_from_seed(7);
    const Secret b = secret_from_seed(8);
    for (std::size_t at = 0; at < a.bytes.size(); at += 16) {
        const auto* from = a.bytes.data() + at;
        EXPECT_FALSE(std::equal(from, from + 16, b.bytes.data() + at)) << at;
    }
}

// Seed 0 is XXH3's public default secret (xxHash, doc/xxhash_spec.md, "default secret"), and a seed
// s adds s to the first and subtracts it from the second 64 bits of each 16 bytes: the same on
// every machine and in every release.
TEST(Secret, seed_is_added_and_subtracted_from_the_default_secret) {
    constexpr std::array<std::uint8_t, 16> kDefaultBegins{0xB8, 0xFE, 0x6C, 0x39, 0x23, 0xA4,
                                                          0x4B, 0xBE, 0x7C, 0x01, 0x81, 0x2C,
                                                          0xF7, 0x21, 0xAD, 0x1C};
    const Secret zero = secret_from_seed(0);
    EXPECT_TRUE(std::equal(kDefaultBegins.begin(), kDefaultBegins.end(), zero.bytes.begin()));
    const Secret one = secret_from_seed(1);
    EXPECT_EQ(one.bytes[0], 0xB9);
    EXPECT_EQ(one.bytes[8], 0x7B);
    EXPECT_TRUE(std::equal(one.bytes.begin() + 1, one.bytes.begin() + 8, zero.bytes.begin() + 1));
}

}  // namespace
}  // namespace unecho::hash
