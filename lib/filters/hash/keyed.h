// SPDX-License-Identifier: BSD-3-Clause
// hash: keyed 64-bit digests of packet keys. keyed_digest() hashes a 64-bit head, a second head for
// some keys, and a body of n bytes in place, under a Secret (secret.h). The head is 0 if a key has
// none. Hot: writes nothing and reads nothing outside [body, body + n). Within unecho only hash and
// packets include this header; the installed library offers it.
//
// Proven for any two different keys (heads, n, body) chosen without knowing the secret, over a
// uniform secret: they share a digest with probability
//     at most 3 * 2^-64 up to 128 bytes of body,
//     at most 4 * 2^-64 up to 65536 bytes (kGroupBytes), and
//     at most 4 * 2^-64 + 25 * (g / 2^61)^2 above, g = n / 65536 rounded up,
// so at most 2^-62 for every packet. docs/decisions/0008-digest-kernels.md has the proof. A digest
// depends on the key and the secret alone, not on the machine or the build.
//
// Next: digest.h (how filters derive positions), secret.h, kernels/body_sum.h (the loop with a
// kernel for each instruction set).
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

// The longest body that is summed inline. Above it, stripes are faster than pairs.
inline constexpr std::size_t kMaxShort = 128;

// Prefetch the lines of a body that will be summed soon.
[[gnu::always_inline]] inline void prefetch_body(const std::uint8_t* body, std::size_t n) noexcept {
    constexpr std::size_t kMost = 1536;  // beyond this the hardware prefetcher has taken over
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

// Return one term of NH with 64-bit words (Black et al., UMAC, 1999); words add modulo 2^64.
[[nodiscard]] inline uint128 pair(std::uint64_t low, std::uint64_t high,
                                  const std::uint64_t* key) noexcept {
    return uint128{low + key[0]} * (high + key[1]);
}

[[nodiscard]] inline uint128 pair(const std::uint8_t* p, const std::uint64_t* key) noexcept {
    return pair(word_at(p), word_at(p + 8), key);
}

// Return the sum of a body below 16 bytes: two zero-padded words that determine all bytes for this
// length. Not inline: loops over keys of usual lengths keep their registers.
[[nodiscard, gnu::noinline]] inline uint128 tiny_body(const std::uint8_t* body, std::size_t n,
                                                      const Secret& secret) noexcept {
    constexpr std::size_t kWord = 8;
    if (n >= kWord) {  // last: bytes 8 to n - 1; in two shifts, since 64 at once is undefined
        const std::uint64_t last = word_at(body + n - kWord) >> 8 >> 8 * (kPairBytes - 1 - n);
        return pair(word_at(body), last, secret.body.data());
    }
    std::array<std::uint8_t, kPairBytes> bytes{};
    if (n > 0) {
        std::memcpy(bytes.data(), body, n);
    }
    return pair(bytes.data(), secret.body.data());
}

// Return the sum of pairs modulo 2^128. The last pair ends where the body ends, may overlap the
// bytes before it, and is added first.
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

// Reduce 128 bits to 64: the high half of the low word's product modulo 2^128, plus the high word.
// The steps after that are invertible, so they merge no digests. They break up the arithmetic
// progressions that keys in arithmetic progression would give
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

// Return the digest of a 64-bit head and n bytes of body. body may be null if n is 0.
[[nodiscard]] inline Digest keyed_digest(std::uint64_t head, const std::uint8_t* body,
                                         std::size_t n, const Secret& secret) noexcept {
    return detail::folded(
        detail::pair(head, n, secret.ends.data()) + detail::body_of(body, n, secret), secret);
}

// The same with a second head. No key without one is mistaken for it.
[[nodiscard]] inline Digest keyed_digest(std::uint64_t head, std::uint64_t second,
                                         const std::uint8_t* body, std::size_t n,
                                         const Secret& secret) noexcept {
    return detail::folded(detail::pair(head, n, secret.ends.data()) +
                              detail::pair(second, 0, secret.second.data()) +
                              detail::body_of(body, n, secret),
                          secret);
}

// Without a head; equal to a head of 0.
[[nodiscard]] inline Digest keyed_digest(const std::uint8_t* body, std::size_t n,
                                         const Secret& secret) noexcept {
    return keyed_digest(0, body, n, secret);
}

// For short keys assembled in registers.
template <std::size_t kWords>
[[nodiscard]] inline Digest keyed_digest(const std::array<std::uint64_t, kWords>& words,
                                         const Secret& secret) noexcept {
    return keyed_digest(reinterpret_cast<const std::uint8_t*>(words.data()), sizeof words, secret);
}

}  // namespace unecho::hash
