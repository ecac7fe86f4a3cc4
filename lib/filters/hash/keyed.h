// SPDX-License-Identifier: BSD-3-Clause
// The hash behind every digest: a key is a head of 64 bits (0 where it has none) and a body of n
// bytes, hashed where it lies; some keys have a second head. Hot: nothing written, nothing read
// outside [body, body + n). Of unecho only hash and packet include it; the library offers it.
//
// Proven, for any two different keys (heads, n, body) that were chosen without knowing the secret,
// over a uniform secret: they share a digest with probability
//     at most 3 * 2^-64 up to 128 bytes of body,
//     at most 4 * 2^-64 up to 65536 bytes (kGroupBytes), and
//     at most 4 * 2^-64 + 25 * (g / 2^61)^2 above, g = n / 65536 rounded up,
// so 2^-62 for every packet. docs/decisions/0008-digest-kernels.md has the proof. A digest depends
// on the key and on the secret alone, not on machine or build.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/int128.h"
#include "base/prefetch.h"
#include "filters/hash/digest.h"
#include "filters/hash/long_body.h"
#include "filters/hash/secret.h"

namespace unecho::hash {

static_assert(std::endian::native == std::endian::little, "words are hashed as they lie in memory");

// The longest body that is summed in line; from here on stripes are faster than pairs.
inline constexpr std::size_t kMaxShort = 128;

// Asks for the lines of a body that will soon be summed.
[[gnu::always_inline]] inline void prefetch_body(const std::uint8_t* body, std::size_t n) noexcept {
    constexpr std::size_t kMost = 1536;  // from there on the processor has understood
    for (std::size_t at = 0; at < std::min(n, kMost); at += kStripeBytes) {
        prefetch_line(body + at);
    }
}

namespace detail {

inline constexpr std::size_t kPairBytes = 16;

[[nodiscard]] inline std::uint64_t word_at(const std::uint8_t* p) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, p, sizeof word);
    return word;
}

// A term of NH with words of 64 bits (Black et al., UMAC, 1999): the sums are modulo 2^64.
[[nodiscard]] inline uint128 pair(std::uint64_t low, std::uint64_t high,
                                  const std::uint64_t* key) noexcept {
    return uint128{low + key[0]} * (high + key[1]);
}

[[nodiscard]] inline uint128 pair(const std::uint8_t* p, const std::uint64_t* key) noexcept {
    return pair(word_at(p), word_at(p + 8), key);
}

// Below 16 bytes: two words that for a given length determine every byte, zeros behind the last.
// Not inline, so that loops over keys of the usual lengths keep their registers.
[[nodiscard, gnu::noinline]] inline uint128 tiny_body(const std::uint8_t* body, std::size_t n,
                                                      const Secret& secret) noexcept {
    constexpr std::size_t kWord = 8;
    if (n >= kWord) {  // the last bytes end a word of the body; of eight no byte is left
        const std::uint64_t last = word_at(body + n - kWord) >> 8 >> 8 * (kPairBytes - 1 - n);
        return pair(word_at(body), last, secret.body.data());
    }
    std::array<std::uint8_t, kPairBytes> bytes{};
    if (n > 0) {
        std::memcpy(bytes.data(), body, n);
    }
    return pair(bytes.data(), secret.body.data());
}

// Sums of pairs modulo 2^128; the last pair ends where the body ends, over some of the bytes before
// it if need be, and comes first.
[[nodiscard]] inline uint128 short_body(const std::uint8_t* body, std::size_t n,
                                        const Secret& secret) noexcept {
    const std::uint64_t* key = secret.body.data();
    uint128 sum = pair(body + n - kPairBytes, key);
    for (std::size_t at = 0; at + kPairBytes < n; at += kPairBytes) {
        sum += pair(body + at, key += 2);
    }
    return sum;
}

[[nodiscard]] inline uint128 body_of(const std::uint8_t* body, std::size_t n,
                                     const Secret& secret) noexcept {
    if (n > kMaxShort) {
        return long_body(body, n, secret);
    }
    return n < kPairBytes ? tiny_body(body, n, secret) : short_body(body, n, secret);
}

// 128 bits to 64: the high half of a product modulo 2^128 for the low word, the high word added.
// What follows can be undone, so no two digests become one: it breaks up the arithmetic
// progressions that keys in arithmetic progression would get
// (tests/statistical/digest_spread_test.cpp).
[[nodiscard]] inline Digest folded(uint128 sum, const Secret& secret) noexcept {
    const auto low = static_cast<std::uint64_t>(sum);
    const auto high = static_cast<std::uint64_t>(sum >> 64);
    std::uint64_t x = static_cast<std::uint64_t>(uint128{low} * secret.fold[0] >> 64) +
                      low * secret.fold[1] + high;
    x = (x ^ x >> 32) * 0xBF58476D1CE4E5B9;
    return x ^ x >> 32;
}

}  // namespace detail

// The digest of a 64-bit head in front of n bytes. body may be null when n is 0.
[[nodiscard]] inline Digest keyed_digest(std::uint64_t head, const std::uint8_t* body,
                                         std::size_t n, const Secret& secret) noexcept {
    return detail::folded(
        detail::pair(head, n, secret.ends.data()) + detail::body_of(body, n, secret), secret);
}

// With a second head, which no key without one is taken for.
[[nodiscard]] inline Digest keyed_digest(std::uint64_t head, std::uint64_t second,
                                         const std::uint8_t* body, std::size_t n,
                                         const Secret& secret) noexcept {
    return detail::folded(detail::pair(head, n, secret.ends.data()) +
                              detail::pair(second, 0, secret.second.data()) +
                              detail::body_of(body, n, secret),
                          secret);
}

// Without a head, which is the same as with a head of 0.
[[nodiscard]] inline Digest keyed_digest(const std::uint8_t* body, std::size_t n,
                                         const Secret& secret) noexcept {
    return keyed_digest(0, body, n, secret);
}

// For short keys that are put together in registers.
template <std::size_t kWords>
[[nodiscard]] inline Digest keyed_digest(const std::array<std::uint64_t, kWords>& words,
                                         const Secret& secret) noexcept {
    return keyed_digest(reinterpret_cast<const std::uint8_t*>(words.data()), sizeof words, secret);
}

}  // namespace unecho::hash
