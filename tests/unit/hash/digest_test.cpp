// SPDX-License-Identifier: BSD-3-Clause
#include "filters/hash/digest.h"

#include <array>
#include <limits>

#include <gtest/gtest.h>

namespace unecho {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
constexpr std::array<std::uint64_t, 8> kValues{
    0, 1, 2, 0x8000'0000'0000'0000, kMax, kMax - 1, 0x0123'4567'89AB'CDEF, 0x9E37'79B9'7F4A'7C15};

// Return the multiplicative inverse of an odd number (Newton: each step doubles the right bits).
constexpr std::uint64_t inverse(std::uint64_t odd) {
    std::uint64_t x = odd;
    for (int i = 0; i < 6; ++i) {
        x *= 2 - odd * x;
    }
    return x;
}

constexpr std::uint64_t unshift(std::uint64_t x, unsigned bits) {
    std::uint64_t out = x;
    for (unsigned done = bits; done < 64; done += bits) {
        out = x ^ (out >> bits);
    }
    return out;
}

TEST(Remix, every_salt_can_be_undone) {
    for (const std::uint64_t digest : kValues) {
        for (std::uint64_t salt = 0; salt < 100; ++salt) {
            std::uint64_t x = unshift(remix(digest, salt), 31);
            x = unshift(x * inverse(0x94D0'49BB'1331'11EB), 27);
            x = unshift(x * inverse(0xBF58'476D'1CE4'E5B9), 30);
            EXPECT_EQ(x - salt * 0x9E37'79B9'7F4A'7C15, digest);
        }
    }
}

// splitmix64's published sequence for seed 0 begins with these.
TEST(Remix, salts_of_digest_0_are_splitmix64) {
    EXPECT_EQ(remix(0, 1), 0xE220'A839'7B1D'CDAF);
    EXPECT_EQ(remix(0, 2), 0x6E78'9E6A'A1B9'65F4);
    EXPECT_EQ(remix(0, 3), 0x06C4'5D18'8009'454F);
}

TEST(Reduce, ends_of_the_range_map_to_first_and_last) {
    for (const std::uint64_t n : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3},
                                  std::uint64_t{1000}, std::uint64_t{1} << 40, kMax}) {
        EXPECT_EQ(reduce(0, n), 0U);
        EXPECT_EQ(reduce(kMax, n), n - 1);
    }
}

TEST(Reduce, value_maps_to_its_share_of_the_range) {
    EXPECT_EQ(reduce(std::uint64_t{1} << 63, 10), 5U);
    EXPECT_EQ(reduce((std::uint64_t{1} << 63) - 1, 10), 4U);
    EXPECT_EQ(reduce(std::uint64_t{3} << 62, 4), 3U);
}

}  // namespace
}  // namespace unecho
