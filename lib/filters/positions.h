// SPDX-License-Identifier: BSD-3-Clause
// Many positions of bits or cells from one digest, in two ways.
#pragma once

#include <cstdint>

#include "base/int128.h"
#include "filters/hash/digest.h"

namespace unecho::filter {

// One position in each of several arrays (slices), which may differ in size. Position i is
// reduce(h1 + i h2 + i^2 h3, m). With the linear term alone (double hashing), two digests with
// close h1 and h2 collide in all of k consecutive slices with probability about 1/(k m^2). Over the
// keys of a window of l slices this adds l/(k^2 m) to the false-positive rate, more than the rate
// itself if slices are small. With the square term it is of order m^-3.
class SlicePositions {
  public:
    explicit SlicePositions(Digest digest) noexcept
        : h1_(remix(digest, 1)), h2_(remix(digest, 2)), h3_(remix(digest, 3)) {}

    // Return the position in slice i, in [0, m).
    [[nodiscard]] std::uint64_t at(std::uint64_t i, std::uint64_t m) const noexcept {
        return reduce(h1_ + i * (h2_ + i * h3_), m);
    }

  private:
    std::uint64_t h1_;
    std::uint64_t h2_;
    std::uint64_t h3_;
};

// Several positions in one array; different salts give independent positions. Costs one
// multiplication per position. It is not a polynomial in i: with SlicePositions in one array of m =
// 512 bits, a Bloom filter with k = 12 has 7 % too many false positives.
class Positions {
  public:
    explicit Positions(Digest digest, std::uint64_t salt = 0) noexcept
        : h1_(remix(digest, 2 * salt + 1)), h2_(remix(digest, 2 * salt + 2)) {}

    [[nodiscard]] std::uint64_t at(std::uint64_t i, std::uint64_t m) const noexcept {
        const std::uint64_t x = h1_ + i * 0x9E3779B97F4A7C15ULL;
        const uint128 product = static_cast<uint128>(x) * (x ^ h2_);
        return reduce(
            static_cast<std::uint64_t>(product >> 64) ^ static_cast<std::uint64_t>(product), m);
    }

  private:
    std::uint64_t h1_;
    std::uint64_t h2_;
};

}  // namespace unecho::filter
