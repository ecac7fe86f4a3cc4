// SPDX-License-Identifier: BSD-3-Clause
#include "hash/keyed.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace unecho::hash {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::uint64_t kHead = 0x0123'4567'89AB'CDEF;

Bytes counting(std::size_t n) {
    Bytes out(n);
    for (std::size_t i = 0; i < n; ++i) {
        out[i] = static_cast<std::uint8_t>((i + 1) % 251);
    }
    return out;
}

// Every length up to 300 (XXH3 changes its way at 0, 3, 8, 16, 128 and 240), then around its
// 64-byte stripes and 1024-byte blocks.
std::vector<std::size_t> lengths() {
    std::vector<std::size_t> out;
    for (std::size_t n = 0; n <= 300; ++n) {
        out.push_back(n);
    }
    for (const std::size_t n : {511, 512, 513, 1023, 1024, 1025, 1500, 2048, 2049, 9000}) {
        out.push_back(n);
    }
    return out;
}

// The values come from Debian's libxxhash.so 0.8.1, compiled by others for plain x86-64: this pins
// the digests over compilers, vector widths and releases (a reproducible run rests on it).
TEST(KeyedDigest, known_input_known_digest) {
    struct Row {
        std::size_t length;
        Digest digest;
    };
    constexpr std::array kRows{
        Row{0, 0xA5673B80DFB54CD0},    Row{1, 0x40A6675D952A3FAB},   Row{3, 0xAB29FB9CC6CC9B5B},
        Row{4, 0xE1F2AE6120B39131},    Row{8, 0x97E72822C9AA3BCE},   Row{9, 0xE5BA4B7E6ACB0C30},
        Row{16, 0x6902F45143D25363},   Row{17, 0x70013733E8EAAEBC},  Row{128, 0xFD0AE39777892AEF},
        Row{129, 0x4E14EBC24D6C5FE0},  Row{240, 0xA49C1AC126730932}, Row{241, 0xC82524035EBE0F2D},
        Row{1500, 0x76D7E8229EEAE96F},
    };
    const Secret secret = secret_from_seed(42);
    for (const Row& row : kRows) {
        const Bytes bytes = counting(row.length);
        EXPECT_EQ(keyed_digest(bytes.data(), bytes.size(), secret), row.digest) << row.length;
    }
    constexpr std::array kHeaded{
        Row{0, 0xA515E72F472751F7},   Row{23, 0x1DBDCF875DEE421C},   Row{24, 0xA3FC59786CADB825},
        Row{34, 0x21914A79BA341E8A},  Row{100, 0x43E235B373E075F3},  Row{120, 0xB30CAFBB7F0431E0},
        Row{121, 0x94E7024BFC20CFDB}, Row{1500, 0x87FBF78C6B240211},
    };
    for (const Row& row : kHeaded) {
        const Bytes body = counting(row.length);
        EXPECT_EQ(keyed_digest(kHead, body.data(), body.size(), secret), row.digest) << row.length;
    }
}

// The lengths that are written out here, and those around them, against the library.
TEST(KeyedDigest, is_xxh3_at_every_length) {
    const Secret secret = secret_from_seed(9);
    std::mt19937_64 random(9);
    for (const std::size_t n : lengths()) {
        for (unsigned round = 0; round < 4; ++round) {
            Bytes bytes(n);
            std::generate(bytes.begin(), bytes.end(),
                          [&] { return static_cast<std::uint8_t>(random()); });
            ASSERT_EQ(keyed_digest(bytes.data(), n, secret),
                      XXH3_64bits_withSecret(bytes.data(), n, secret.bytes.data(), 192))
                << n;
        }
    }
}

TEST(KeyedDigestWithHead, is_xxh3_of_both_up_to_120_bytes) {
    const Secret secret = secret_from_seed(10);
    std::mt19937_64 random(10);
    for (const std::size_t n : lengths()) {
        Bytes both(8 + n);
        std::generate(both.begin(), both.end(),
                      [&] { return static_cast<std::uint8_t>(random()); });
        std::uint64_t head = 0;
        std::memcpy(&head, both.data(), sizeof head);
        const Bytes body(both.begin() + 8, both.end());  // of its own, for a sanitizer to see
        const auto xxh3 = [&](const Bytes& bytes) {
            return XXH3_64bits_withSecret(bytes.data(), bytes.size(), secret.bytes.data(), 192);
        };
        ASSERT_EQ(keyed_digest(head, body.data(), n, secret) == xxh3(both), n <= 120) << n;
    }
}

TEST(KeyedDigest, null_and_empty_are_the_same) {
    const Secret secret = secret_from_seed(1);
    const std::uint8_t byte = 0;
    EXPECT_EQ(keyed_digest(nullptr, 0, secret), keyed_digest(&byte, 0, secret));
    EXPECT_EQ(keyed_digest(kHead, nullptr, 0, secret), keyed_digest(kHead, &byte, 0, secret));
}

// A hash that ignored its secret at some length could be computed by anybody for that length.
TEST(KeyedDigest, secret_counts_at_every_length) {
    const Secret a = secret_from_seed(1);
    const Secret b = secret_from_seed(2);
    for (const std::size_t n : lengths()) {
        const Bytes bytes = counting(n);
        EXPECT_NE(keyed_digest(bytes.data(), n, a), keyed_digest(bytes.data(), n, b)) << n;
        EXPECT_NE(keyed_digest(kHead, bytes.data(), n, a), keyed_digest(kHead, bytes.data(), n, b))
            << n;
    }
}

TEST(KeyedDigest, every_byte_counts_at_every_length) {
    const Secret secret = secret_from_seed(3);
    for (const std::size_t n : lengths()) {
        Bytes bytes = counting(n);
        const Digest whole = keyed_digest(bytes.data(), n, secret);
        const Digest headed = keyed_digest(kHead, bytes.data(), n, secret);
        for (std::size_t at = 0; at < n; ++at) {
            bytes[at] ^= 0x10;
            ASSERT_NE(keyed_digest(bytes.data(), n, secret), whole) << n << " at " << at;
            ASSERT_NE(keyed_digest(kHead, bytes.data(), n, secret), headed) << n << " at " << at;
            bytes[at] ^= 0x10;
        }
    }
}

TEST(KeyedDigest, length_counts_for_equal_bytes) {
    const Secret secret = secret_from_seed(4);
    const Bytes zeros(9000);
    std::set<Digest> plain;
    std::set<Digest> headed;
    for (const std::size_t n : lengths()) {
        plain.insert(keyed_digest(zeros.data(), n, secret));
        headed.insert(keyed_digest(0, zeros.data(), n, secret));
    }
    EXPECT_EQ(plain.size(), lengths().size());
    EXPECT_EQ(headed.size(), lengths().size());
}

TEST(KeyedDigest, place_in_memory_does_not_count) {
    const Secret secret = secret_from_seed(5);
    const Bytes bytes = counting(1500);
    const Digest expected = keyed_digest(bytes.data(), bytes.size(), secret);
    for (std::size_t shift = 0; shift < 64; ++shift) {
        Bytes moved(shift);
        moved.insert(moved.end(), bytes.begin(), bytes.end());
        EXPECT_EQ(keyed_digest(moved.data() + shift, bytes.size(), secret), expected) << shift;
    }
}

TEST(KeyedDigestWithHead, every_bit_of_the_head_counts) {
    const Secret secret = secret_from_seed(6);
    const Bytes body = counting(34);
    std::set<Digest> digests{keyed_digest(kHead, body.data(), body.size(), secret)};
    for (unsigned bit = 0; bit < 64; ++bit) {
        digests.insert(
            keyed_digest(kHead ^ std::uint64_t{1} << bit, body.data(), body.size(), secret));
    }
    EXPECT_EQ(digests.size(), 65U);
}

// The same bit flipped in head and body must not cancel, wherever it stands.
TEST(KeyedDigestWithHead, changes_of_head_and_body_do_not_cancel) {
    const Secret secret = secret_from_seed(7);
    Bytes body = counting(8);
    const Digest original = keyed_digest(kHead, body.data(), body.size(), secret);
    for (unsigned h = 0; h < 64; ++h) {
        for (unsigned b = 0; b < 64; ++b) {
            body[b / 8] ^= static_cast<std::uint8_t>(1U << b % 8);
            ASSERT_NE(keyed_digest(kHead ^ std::uint64_t{1} << h, body.data(), body.size(), secret),
                      original)
                << h << " " << b;
            body[b / 8] ^= static_cast<std::uint8_t>(1U << b % 8);
        }
    }
}

TEST(KeyedDigestOfWords, equals_the_digest_of_their_bytes) {
    const Secret secret = secret_from_seed(8);
    const std::array<std::uint64_t, 2> words{0x0807'0605'0403'0201, 0x100F'0E0D'0C0B'0A09};
    const Bytes bytes = counting(16);
    EXPECT_EQ(keyed_digest(words, secret), keyed_digest(bytes.data(), bytes.size(), secret));
}

// Of n independent digests of fair bits, each bit is set in n/2 +- z * sqrt(n)/2 of them. 64 bits
// are looked at on both sides for two forms, so for alpha = 1e-6 in all z is 5.8 (2 * (1 -
// Phi(5.8)) = 6.6e-9 < 1e-6 / 128). Keys differ in their last bits only, as the addresses of a scan
// do.
TEST(KeyedDigest, neighbouring_keys_spread_over_every_bit) {
    constexpr unsigned kKeys = 1U << 16;
    const double slack = 5.8 * std::sqrt(kKeys) / 2;
    const Secret secret = secret_from_seed(9);
    std::array<unsigned, 64> words{};
    std::array<unsigned, 64> heads{};
    const Bytes body = counting(34);
    for (std::uint64_t key = 0; key < kKeys; ++key) {
        const Digest a = keyed_digest(std::array<std::uint64_t, 2>{0x0A00'0001, key}, secret);
        const Digest b = keyed_digest(key, body.data(), body.size(), secret);
        for (unsigned bit = 0; bit < 64; ++bit) {
            words[bit] += static_cast<unsigned>(a >> bit & 1);
            heads[bit] += static_cast<unsigned>(b >> bit & 1);
        }
    }
    for (unsigned bit = 0; bit < 64; ++bit) {
        EXPECT_NEAR(words[bit], kKeys / 2, slack) << bit;
        EXPECT_NEAR(heads[bit], kKeys / 2, slack) << bit;
    }
}

}  // namespace
}  // namespace unecho::hash
