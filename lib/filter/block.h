// SPDX-License-Identifier: BSD-3-Clause
// One block of a blocked Bloom filter: B bits in b parts, one bit in each for a key (a partitioned
// Bloom filter, APBF section 4 and 6). This scalar code is the specification for any other.
//
// Parts: if b divides B all have B / b bits; otherwise the first B mod b parts have one bit more
// than the others. At capacity that changes a block's match probability by at most 0.4 %
// (B = 64, b = 10) against (1 - (1 - b/B)^n)^b, which sizing uses.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "hash/digest.h"

namespace unecho::filter {

inline constexpr unsigned kMaxBlockBits = 512;
inline constexpr unsigned kMaxBitsPerKey = 16;

// A block's hash is spread over words of random digits by these, odd so that the product's high
// bits depend on all bits of the hash: its highest ones are equal for all keys of a block.
// Fractions of the golden ratio and of the square root of 3.
inline constexpr std::array<std::uint64_t, kMaxBitsPerKey / 8> kDigitFactor{0x9E3779B97F4A7C15ULL,
                                                                            0xBB67AE8584CAA73BULL};

// Any B and b. hash: 64 well-mixed bits of a key for one segment, of which the block's number took
// the highest.
class BlockShape {
  public:
    constexpr BlockShape(unsigned B, unsigned b) noexcept
        : bits_(b), stride_(b == 1 ? 0 : kLastDigit / (std::min(b, 8u) - 1)) {
        unsigned first = 0;
        for (unsigned part = 0; part < b; ++part) {
            const unsigned size = B / b + (part < B % b ? 1 : 0);
            parts_[part] = {static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(size)};
            first += size;
        }
    }

    [[nodiscard]] bool matches(const std::uint64_t* block, std::uint64_t hash) const noexcept {
        std::uint64_t all = 1;
        for (unsigned part = 0; part < bits_; ++part) {
            const std::uint64_t bit = bit_of(part, hash);
            all &= block[bit / 64] >> (bit % 64);
        }
        return all != 0;
    }

    void set(std::uint64_t* block, std::uint64_t hash) const noexcept {
        for (unsigned part = 0; part < bits_; ++part) {
            const std::uint64_t bit = bit_of(part, hash);
            block[bit / 64] |= std::uint64_t{1} << (bit % 64);
        }
    }

    // Eight parts draw from one 64-bit word, each from its own digit on, stride_ bits apart and so
    // wide apart that neighbours are independent also where a part's size is no power of two.
    [[nodiscard]] constexpr std::uint64_t bit_of(unsigned part, std::uint64_t hash) const noexcept {
        const std::uint64_t word = hash * kDigitFactor[part / 8];
        return parts_[part].first + reduce(word << (part % 8 * stride_), parts_[part].size);
    }

  private:
    // Where the last digit begins at most: 15 bits are left for it.
    static constexpr unsigned kLastDigit = 49;

    struct Part {
        std::uint16_t first;
        std::uint16_t size;
    };

    unsigned bits_;
    unsigned stride_;
    std::array<Part, kMaxBitsPerKey> parts_{};
};

// B / b = 64, with the positions of BlockShape(64 b, b): each part is a word of its own, so nothing
// has to be looked up. (512, 8) is what sizing picks most; it runs twice as fast this way.
template <unsigned b>
requires(b <= 8) class WordParts {
  public:
    [[nodiscard]] static bool matches(const std::uint64_t* block, std::uint64_t hash) noexcept {
        std::uint64_t missing = 0;
        for (unsigned part = 0; part < b; ++part) {
            missing |= bit_of(part, hash) & ~block[part];
        }
        return missing == 0;
    }

    static void set(std::uint64_t* block, std::uint64_t hash) noexcept {
        for (unsigned part = 0; part < b; ++part) {
            block[part] |= bit_of(part, hash);
        }
    }

  private:
    [[nodiscard]] static std::uint64_t bit_of(unsigned part, std::uint64_t hash) noexcept {
        return std::uint64_t{1} << (hash * kDigitFactor[0] << (7 * part) >> 58);
    }
};

}  // namespace unecho::filter
