// SPDX-License-Identifier: BSD-3-Clause
// The hash behind every digest: XXH3, 64 bits, under our own 192-byte secret. Hot: inline, nothing
// written, nothing read outside [data, data + n). May be included by hash and packet only.
//
// XXH3_64bits_withSecret mixes the secret in at every length. (Its seeded sibling
// XXH3_64bits_withSecretandSeed falls back to the public default secret up to 240 bytes and is not
// used here.) To somebody who does not know the secret, two different inputs collide with
// probability 2^-64. XXH3 gives the same value with every vector width, so a digest depends on the
// bytes and on the secret alone.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "hash/digest.h"
#include "hash/secret.h"

namespace unecho::hash {

static_assert(std::endian::native == std::endian::little, "words are hashed as they lie in memory");

// data may be null when n is 0.
[[nodiscard]] inline Digest keyed_digest(const std::uint8_t* data, std::size_t n,
                                         const Secret& secret) noexcept {
    return XXH3_64bits_withSecret(data, n, secret.bytes.data(), secret.bytes.size());
}

// For short keys that are put together in registers. The length is part of the hash: keys of two
// and of five words never count as equal.
template <std::size_t kWords>
[[nodiscard]] inline Digest keyed_digest(const std::array<std::uint64_t, kWords>& words,
                                         const Secret& secret) noexcept {
    return keyed_digest(reinterpret_cast<const std::uint8_t*>(words.data()), sizeof words, secret);
}

// The digest of a 64-bit head in front of n bytes that are hashed where they lie:
//     H(H(body) || head),  H keyed, the outer input always 16 bytes.
// Sound because no step loses anything but by a collision of H: pairs with different bodies (in
// content or length) need H(body) = H(body') or, failing that, a collision of the outer H; pairs
// with equal bodies and different heads need a collision of the outer H. Both inputs are keyed, so
// the chance is at most 2 * 2^-64 for a pair. A plain combination (H(body) ^ head, say) would let
// somebody cancel a known change of the head without knowing the secret; here the head is hashed.
[[nodiscard]] inline Digest keyed_digest(std::uint64_t head, const std::uint8_t* body,
                                         std::size_t n, const Secret& secret) noexcept {
    return keyed_digest(std::array{keyed_digest(body, n, secret), head}, secret);
}

}  // namespace unecho::hash
