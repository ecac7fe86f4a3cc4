// SPDX-License-Identifier: BSD-3-Clause
// Digest: the 64-bit keyed hash of a key, the bytes that define sameness. Two different keys of at
// most 65536 bytes share a digest with probability at most 2^-62 (filters/hash/keyed.h). This
// header is all that filters may know of hashing: no key bytes, no secret.
#pragma once

#include <cstdint>

#include "base/int128.h"

namespace unecho {

using Digest = std::uint64_t;

// Return a digest that looks independent for each salt: a bijective 64-bit finaliser (splitmix64's)
// of digest + salt * an odd constant. Filters draw further positions from one digest with it. It
// adds no secrecy; the digest is keyed already.
[[nodiscard]] constexpr Digest remix(Digest digest, std::uint64_t salt) noexcept {
    std::uint64_t x = digest + salt * 0x9E3779B97F4A7C15ULL;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
}

// Map a 64-bit value to [0, n) by multiplication, without a division. Uses the high bits.
[[nodiscard]] constexpr std::uint64_t reduce(std::uint64_t value, std::uint64_t n) noexcept {
    return static_cast<std::uint64_t>((static_cast<uint128>(value) * n) >> 64);
}

}  // namespace unecho
