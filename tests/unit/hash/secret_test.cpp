// SPDX-License-Identifier: BSD-3-Clause
#include "filters/hash/secret.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <set>

#include <gtest/gtest.h>

#include "filters/hash/chacha20.h"

namespace unecho::hash {
namespace {

using Words = std::array<std::uint64_t, sizeof(Secret) / sizeof(std::uint64_t)>;

Words words_of(const Secret& secret) {
    Words words;
    std::memcpy(words.data(), &secret, sizeof secret);
    return words;
}

// Words of two secrets, and all words of one, are equal with a chance of 2^-64 for each pair.
void expect_all_differ(const Secret& a, const Secret& b) {
    const Words one = words_of(a);
    const Words other = words_of(b);
    std::set<std::uint64_t> all(one.begin(), one.end());
    all.insert(other.begin(), other.end());
    EXPECT_EQ(all.size(), one.size() + other.size());
}

TEST(Secret, random_secrets_differ_in_every_word) {
    const auto a = random_secret();
    const auto b = random_secret();
    ASSERT_TRUE(a.has_value());
    ASSERT_TRUE(b.has_value());
    expect_all_differ(*a, *b);
}

// Each bit is set in 136 +- 8.25 of 272 fair words. 6 deviations on both sides are 2e-9 for
// a bit, and 1e-7 for all 64.
TEST(Secret, every_bit_of_a_random_secret_is_fair) {
    const auto secret = random_secret();
    ASSERT_TRUE(secret.has_value());
    for (unsigned bit = 0; bit < 64; ++bit) {
        const Words words = words_of(*secret);
        const auto set = std::count_if(words.begin(), words.end(), [bit](std::uint64_t word) {
            return (word >> bit & 1) != 0;
        });
        EXPECT_NEAR(static_cast<double>(set), 136, 6 * 8.25) << bit;
    }
}

TEST(Secret, same_seed_same_secret) {
    EXPECT_EQ(words_of(secret_from_seed(7)), words_of(secret_from_seed(7)));
}

TEST(Secret, seeds_that_differ_by_a_bit_differ_in_every_word) {
    for (unsigned bit = 0; bit < 64; ++bit) {
        expect_all_differ(secret_from_seed(7), secret_from_seed(7 ^ std::uint64_t{1} << bit));
    }
}

// RFC 8439, section 2.3.2.
TEST(Chacha20, known_key_known_block) {
    ChachaKey key{};
    for (std::uint32_t i = 0; i < key.size(); ++i) {
        key[i] = 0x0302'0100 + i * 0x0404'0404;
    }
    const ChachaBlock block = chacha20_block(key, 1, {0x0900'0000, 0x4A00'0000, 0});
    EXPECT_EQ(block,
              (ChachaBlock{0xE4E7F110, 0x15593BD1, 0x1FDD0F50, 0xC47120A3, 0xC7F4D1C7, 0x0368C033,
                           0x9AAA2204, 0x4E6CD4C3, 0x466482D2, 0x09AA9F07, 0x05D7C214, 0xA2028BD9,
                           0xD19C12B5, 0xB94E16DE, 0xE883D0CB, 0x4E3C50A2}));
}

// RFC 8439, appendix A.1, test vector 1: key and nonce of zeros, block 0. The secret of seed 0
// begins with it.
TEST(Secret, seed_0_is_the_key_stream_of_a_zero_key) {
    const Secret secret = secret_from_seed(0);
    EXPECT_EQ(secret.ends[0], 0x903D'F1A0'ADE0'B876);
    EXPECT_EQ(secret.ends[1], 0x28BD'8653'E56A'5D40);
    EXPECT_EQ(secret.second[1], 0x8665'EEB2'69B6'87C3);
}

}  // namespace
}  // namespace unecho::hash
