// SPDX-License-Identifier: BSD-3-Clause
// The hash behind every digest: XXH3, 64 bits, under our own 192-byte secret. Hot: inline, nothing
// written, nothing read outside [data, data + n). May be included by hash and packet only.
//
// XXH3_64bits_withSecret mixes the secret in at every length. (Its seeded sibling
// XXH3_64bits_withSecretandSeed falls back to the public default secret up to 240 bytes and is not
// used here.) To somebody who does not know the secret, two different inputs collide with
// probability 2^-64. XXH3 gives the same value with every vector width, so a digest depends on the
// bytes and on the secret alone. From 17 to 128 bytes, where most keys are, the same sum is written
// out here, so that a key may begin in a register: docs/decisions/0013-digest-kernels.md.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/int128.h"
#include "hash/digest.h"
#include "hash/secret.h"

namespace unecho::hash {

static_assert(std::endian::native == std::endian::little, "words are hashed as they lie in memory");

namespace detail {

[[nodiscard]] inline std::uint64_t word_at(const std::uint8_t* p) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, p, sizeof word);
    return word;
}

// XXH3's step over 16 bytes: two words under two words of the secret, multiplied, and the halves of
// the product folded.
[[nodiscard]] inline std::uint64_t mixed(std::uint64_t low, std::uint64_t high,
                                         const std::uint8_t* secret) noexcept {
    const uint128 product = uint128{low ^ word_at(secret)} * (high ^ word_at(secret + 8));
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

[[nodiscard]] inline std::uint64_t mixed(const std::uint8_t* p,
                                         const std::uint8_t* secret) noexcept {
    return mixed(word_at(p), word_at(p + 8), secret);
}

inline constexpr std::size_t kLeastMiddle = 17;
inline constexpr std::size_t kMostMiddle = 128;

// XXH3 of n bytes, 17 to 128: 16 bytes at a time from the front and from the back. The first 16,
// low and high, come in registers; second is where the others begin, end where they end. kHead: low
// does not lie in front of high, so what the back has of it is put together.
template <bool kHead>
[[nodiscard]] inline Digest middle_digest(std::uint64_t low, std::uint64_t high,
                                          const std::uint8_t* second, const std::uint8_t* end,
                                          std::size_t n, const std::uint8_t* secret) noexcept {
    std::uint64_t sum = n * 0x9E3779B185EBCA87;
    if (n > 32) {
        if (n > 64) {
            if (n > 96) {
                sum += mixed(second + 32, secret + 96) + mixed(end - 64, secret + 112);
            }
            sum += mixed(second + 16, secret + 64) + mixed(end - 48, secret + 80);
        }
        const bool split = kHead && n < 40;
        const std::uint64_t before =
            split ? low >> (n - 32) * 8 | high << (40 - n) * 8 : word_at(end - 32);
        sum += mixed(second, secret + 32) + mixed(before, word_at(end - 24), secret + 48);
    }
    sum += mixed(low, high, secret) + mixed(end - 16, secret + 16);
    sum = (sum ^ sum >> 37) * 0x165667919E3779F9;
    return sum ^ sum >> 32;
}

[[nodiscard]] inline Digest library_digest(const std::uint8_t* data, std::size_t n,
                                           const Secret& secret) noexcept {
    return XXH3_64bits_withSecret(data, n, secret.bytes.data(), secret.bytes.size());
}

}  // namespace detail

// data may be null when n is 0.
[[nodiscard]] inline Digest keyed_digest(const std::uint8_t* data, std::size_t n,
                                         const Secret& secret) noexcept {
    if (n < detail::kLeastMiddle || n > detail::kMostMiddle) {
        return detail::library_digest(data, n, secret);
    }
    return detail::middle_digest<false>(detail::word_at(data), detail::word_at(data + 8), data + 16,
                                        data + n, n, secret.bytes.data());
}

// For short keys that are put together in registers. The length is part of the hash: keys of two
// and of five words never count as equal.
template <std::size_t kWords>
[[nodiscard]] inline Digest keyed_digest(const std::array<std::uint64_t, kWords>& words,
                                         const Secret& secret) noexcept {
    return keyed_digest(reinterpret_cast<const std::uint8_t*>(words.data()), sizeof words, secret);
}

namespace detail {

inline constexpr std::size_t kHeadBytes = sizeof(std::uint64_t);
inline constexpr std::size_t kLeastJoined = 16;  // the last 16 bytes have nothing of the head
inline constexpr std::size_t kMostJoined = kMostMiddle - kHeadBytes;

// Not inline, so that loops over keys of the usual lengths keep their registers.
[[nodiscard, gnu::noinline]] inline Digest unusual_digest(std::uint64_t head,
                                                          const std::uint8_t* body, std::size_t n,
                                                          const Secret& secret) noexcept {
    if (n > kMostJoined) {
        return keyed_digest(std::array{library_digest(body, n, secret), head}, secret);
    }
    std::array<std::uint8_t, kHeadBytes + kLeastJoined> bytes;
    std::memcpy(bytes.data(), &head, kHeadBytes);
    std::copy_n(body, n, bytes.data() + kHeadBytes);
    return library_digest(bytes.data(), kHeadBytes + n, secret);
}

}  // namespace detail

// The digest of a 64-bit head in front of n bytes that are hashed where they lie:
//     H(head || body)      up to 120 bytes of body,
//     H(H(body) || head)   of more, the outer input always 16 bytes.
// Sound because no step loses anything but by a collision of H: pairs with different bodies (in
// content or length) need H(body) = H(body') or, failing that, a collision of the outer H; pairs
// with equal bodies and different heads need a collision of the outer H. Both inputs are keyed, so
// the chance is at most 2 * 2^-64 for a pair. A plain combination (H(body) ^ head, say) would let
// somebody cancel a known change of the head without knowing the secret; here the head is hashed.
[[nodiscard]] inline Digest keyed_digest(std::uint64_t head, const std::uint8_t* body,
                                         std::size_t n, const Secret& secret) noexcept {
    if (n < detail::kLeastJoined || n > detail::kMostJoined) {
        return detail::unusual_digest(head, body, n, secret);
    }
    return detail::middle_digest<true>(head, detail::word_at(body), body + 16 - detail::kHeadBytes,
                                       body + n, detail::kHeadBytes + n, secret.bytes.data());
}

}  // namespace unecho::hash
