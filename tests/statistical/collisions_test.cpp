// SPDX-License-Identifier: BSD-3-Clause
// Crafted keys: sets of 2^17 keys in which any two differ in one way that a hash may be weak
// against, 8.6e9 pairs a set. At 2^-62 a pair, no collision is expected (4e-9 a set). XXH3 under a
// secret is tested beside it: that it collides proves that a set has teeth.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "filters/hash/keyed.h"
#include "support/seed.h"

namespace unecho::test::collisions_test {
namespace {

using hash::Secret;
using Bytes = std::vector<std::uint8_t>;

constexpr std::uint32_t kKeys = 1U << 17;
constexpr std::size_t kStripe = 64;

struct Key {
    std::uint64_t head = 0;
    Bytes body;
};

// Change `key`, which is reset to the base before each call, into the i-th key of the set.
using Craft = std::function<void(std::uint32_t i, Key& key)>;

std::size_t equal_pairs(std::vector<Digest> digests) {
    std::sort(digests.begin(), digests.end());
    std::size_t pairs = 0;
    for (std::size_t i = 1; i < digests.size(); ++i) {
        pairs += digests[i] == digests[i - 1] ? 1 : 0;
    }
    return pairs;
}

// Hashes a key under a secret made from a seed.
using Hash = std::function<Digest(const Key& key)>;

Hash our_hash(std::uint64_t secret_seed) {
    return [secret = hash::secret_from_seed(secret_seed)](const Key& key) {
        return hash::keyed_digest(key.head, key.body.data(), key.body.size(), secret);
    };
}

Hash xxh3_hash(std::uint64_t secret_seed) {
    std::mt19937_64 random(secret_seed);
    std::array<std::uint64_t, 24> secret;
    std::generate(secret.begin(), secret.end(), [&] { return random(); });
    return [secret](const Key& key) {
        return XXH3_64bits_withSecret(key.body.data(), key.body.size(), secret.data(),
                                      sizeof secret);
    };
}

std::size_t collisions(std::size_t n, const Craft& craft, std::uint64_t base_seed,
                       const Hash& hash) {
    std::mt19937_64 random(base_seed);
    Key base{random(), Bytes(n)};
    std::generate(base.body.begin(), base.body.end(),
                  [&] { return static_cast<std::uint8_t>(random()); });
    std::vector<Digest> digests;
    digests.reserve(kKeys);
    Key key;
    for (std::uint32_t i = 0; i < kKeys; ++i) {
        key = base;
        craft(i, key);
        digests.push_back(hash(key));
    }
    return equal_pairs(std::move(digests));
}

void expect_none(std::size_t n, const Craft& craft, unsigned secrets = 1) {
    SCOPED_TRACE(seed_note());
    for (std::uint64_t i = 0; i < secrets; ++i) {
        EXPECT_EQ(collisions(n, craft, seed() + i, our_hash(seed() + i)), 0U)
            << "bodies of " << n << " bytes";
    }
}

void flip(Bytes& body, std::size_t bit) {
    body[bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
}

std::uint64_t load64(const Bytes& body, std::size_t at) {
    std::uint64_t word = 0;
    std::memcpy(&word, body.data() + at, sizeof word);
    return word;
}

void store64(Bytes& body, std::size_t at, std::uint64_t word) {
    std::memcpy(body.data() + at, &word, sizeof word);
}

std::uint32_t load32(const Bytes& body, std::size_t at) {
    return static_cast<std::uint32_t>(load64(body, at));
}

void store32(Bytes& body, std::size_t at, std::uint32_t word) {
    std::memcpy(body.data() + at, &word, sizeof word);
}

const std::array<std::size_t, 5> kSizes{20, 120, 129, 1024, 1500};

// Each set bit of i changes the body in its own way.
template <typename Change>
Craft subsets(Change change) {
    return [change](std::uint32_t i, Key& key) {
        for (unsigned bit = 0; bit < 17; ++bit) {
            if ((i >> bit & 1) != 0) {
                change(bit, key);
            }
        }
    };
}

TEST(crafted_keys, that_differ_in_bits) {
    for (const std::size_t n : kSizes) {
        expect_none(n, subsets([n](unsigned bit, Key& key) { flip(key.body, bit * 8 * n / 17); }));
        expect_none(n, subsets([n](unsigned bit, Key& key) {
                        flip(key.body, 8 * n - 1 - bit * (n > 64 ? 32 : 1));
                    }));
    }
}

TEST(crafted_keys, that_count_in_a_word_and_carry_into_the_next) {
    for (const std::size_t n : kSizes) {
        for (const std::size_t at : {std::size_t{0}, n / 2, n - 8}) {
            expect_none(n, [at](std::uint32_t i, Key& key) {
                store64(key.body, at, load64(key.body, at) + (std::uint64_t{i} << 24));
            });
        }
    }
}

// +d in one word and -d in another: within a pair, in the next pair, the next stripe or another
// block, or in a word and the head.
TEST(crafted_keys, whose_changes_cancel_in_a_sum) {
    for (const std::size_t n : {120U, 1500U}) {
        for (const std::size_t apart : {4U, 8U, 16U, 32U, 64U, 96U}) {
            expect_none(n, [apart](std::uint32_t i, Key& key) {
                store32(key.body, 0, load32(key.body, 0) + i);
                store32(key.body, apart, load32(key.body, apart) - i);
            });
        }
        expect_none(n, [](std::uint32_t i, Key& key) {
            store64(key.body, 0, load64(key.body, 0) + i);
            key.head -= i;
        });
        expect_none(n, [](std::uint32_t i, Key& key) {
            store64(key.body, 0, load64(key.body, 0) ^ i);
            key.head ^= i;
        });
    }
    expect_none(3000, [](std::uint32_t i, Key& key) {
        store32(key.body, 512, load32(key.body, 512) + i);
        store32(key.body, 1536, load32(key.body, 1536) - i);
    });
}

// Set bit 31 of a lane's even words, as many set as clear, and of an even number of its odd words.
// Any two such keys add equal values to XXH3's neighbouring lane, and the products of the lane
// itself differ by a multiple of 2^31, which is 0 modulo 2^64 with chance 2^-33. A hash with 32
// bits of strength fails here.
Craft top_bits_of_a_lane(std::size_t context) {
    constexpr unsigned kStripes = 14;
    constexpr std::uint32_t kStep = 10'007;  // spreads keys over all 3432 * 2^13
    std::vector<std::uint32_t> balanced;
    for (std::uint32_t set = 0; set < 1U << kStripes; ++set) {
        if (std::popcount(set) == kStripes / 2) {
            balanced.push_back(set);
        }
    }
    return [context, balanced](std::uint32_t i, Key& key) {
        const auto halves = static_cast<std::uint32_t>(balanced.size());
        const std::uint32_t place = i * kStep % (halves << (kStripes - 1));
        const std::uint32_t even = balanced[place % halves];
        std::uint32_t odd = place / halves;
        odd |= static_cast<std::uint32_t>(std::popcount(odd) & 1) << (kStripes - 1);
        for (unsigned stripe = 0; stripe < kStripes; ++stripe) {
            const std::size_t at = stripe * kStripe + context * sizeof(std::uint64_t);
            const std::uint64_t rest = load64(key.body, at) & 0x7FFF'FFFF'7FFF'FFFF;
            store64(key.body, at,
                    rest | std::uint64_t{even >> stripe & 1} << 31 |
                        std::uint64_t{odd >> stripe & 1} << 63);
        }
    };
}

TEST(crafted_keys, that_differ_in_the_top_bits_of_a_lane) {
    std::size_t xxh3 = 0;
    for (const std::size_t context : {0U, 3U, 7U}) {
        const Craft craft = top_bits_of_a_lane(context);
        expect_none(1024, craft, 2);
        for (const std::uint64_t fixed : {20231, 20232}) {
            xxh3 += collisions(1024, craft, fixed, xxh3_hash(fixed));
        }
    }
    RecordProperty("xxh3", static_cast<int>(xxh3));
    EXPECT_GE(xxh3, 1U) << "6 are expected of XXH3: the set has no teeth";
}

// The same for the words that NH multiplies: w[i] and w[i + 8] of a stripe.
TEST(crafted_keys, that_differ_in_the_top_bits_of_one_product) {
    for (const std::size_t at : {0U, 20U}) {
        expect_none(
            1024,
            [at](std::uint32_t i, Key& key) {
                for (unsigned stripe = 0; stripe < 9; ++stripe) {
                    const std::size_t word = (stripe * kStripe + at) * 8;
                    key.body[word / 8 + 3] ^= static_cast<std::uint8_t>((i >> stripe & 1) << 7);
                    key.body[word / 8 + 35] ^=
                        static_cast<std::uint8_t>((i >> (stripe + 9) & 1) << 7);
                }
            },
            4);
    }
}

// Put `count` parts of the body into the i-th order.
void permute(std::uint32_t i, Bytes& body, std::size_t part, std::size_t count) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), 0U);
    for (std::uint32_t left = static_cast<std::uint32_t>(count); left > 1; --left) {
        std::swap(order[left - 1], order[i % left]);
        i /= left;
    }
    const Bytes before = body;
    for (std::size_t to = 0; to < count; ++to) {
        std::copy_n(before.begin() + static_cast<std::ptrdiff_t>(order[to] * part), part,
                    body.begin() + static_cast<std::ptrdiff_t>(to * part));
    }
}

TEST(crafted_keys, whose_parts_are_swapped) {
    const auto orders = [](std::size_t part) {
        return [part](std::uint32_t i, Key& key) { permute(i, key.body, part, 9); };
    };
    for (const std::size_t part : {4U, 8U, 12U}) {
        expect_none(120, orders(part));
    }
    for (const std::size_t part : {4U, 8U, 16U, 32U, 64U, 128U}) {
        expect_none(1400, orders(part));
    }
    expect_none(9 * 1024, orders(1024));
}

// Bodies of zeros, or of ones, for which NH's terms equal the key.
TEST(crafted_keys, that_differ_in_length_alone) {
    for (const std::uint8_t byte : {0x00, 0xFF}) {
        expect_none(0, [byte](std::uint32_t i, Key& key) {
            key.head = i & 63;
            key.body.assign(i >> 6, byte);
        });
    }
    // Above one group: lengths around 2^16 and its multiples.
    std::vector<Digest> digests;
    const Secret secret = hash::secret_from_seed(seed());
    const Bytes zeros(4 * hash::kGroupBytes);
    for (std::size_t group = 1; group < 4; ++group) {
        for (std::size_t n = group * hash::kGroupBytes; n < group * hash::kGroupBytes + 700; ++n) {
            digests.push_back(hash::keyed_digest(0, zeros.data(), n, secret));
        }
    }
    EXPECT_EQ(equal_pairs(std::move(digests)), 0U);
}

// Bodies that zero padding makes equal, and bodies whose end repeats bytes of the last stripe.
TEST(crafted_keys, that_differ_in_padding) {
    expect_none(0, [](std::uint32_t i, Key& key) {
        key.body.assign(1 + i % 1024, 0);
        key.body[0] = static_cast<std::uint8_t>(1 + i / 1024);
    });
    expect_none(0, [](std::uint32_t i, Key& key) {
        key.body.assign(64 + i % 512, 0xA5);
        std::memcpy(key.body.data() + key.body.size() - 8, "12345678", 8);
        key.head = i / 512;
    });
}

}  // namespace
}  // namespace unecho::test::collisions_test
