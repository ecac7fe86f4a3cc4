// SPDX-License-Identifier: BSD-3-Clause
// One block of a blocked Bloom filter: B bits in b parts. A key has one bit in each part (a
// partitioned Bloom filter, APBF sections 4 and 6). This code is the specification for kernels.
//
// If b divides B, each part has B / b bits; otherwise the first B mod b parts have one bit more. At
// capacity this changes a block's match probability by at most 0.4 % (B = 64, b = 10) against
// (1 - (1 - b/B)^n)^b, which sizing uses.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "filters/hash/digest.h"

namespace unecho::filter {

inline constexpr unsigned kMaxBlockBits = 512;
inline constexpr unsigned kMaxBitsOfKey = 16;

// Factors that turn a hash into words of random digits. They are odd, so that a product's high bits
// depend on all bits of the hash; the hash's own high bits are equal for all keys of a block.
// Fractions of the golden ratio and of the square root of 3.
inline constexpr std::array<std::uint64_t, kMaxBitsOfKey / 8> kDigitFactor{0x9E3779B97F4A7C15ULL,
                                                                           0xBB67AE8584CAA73BULL};

// A block of any B and b. hash: 64 well-mixed bits; the highest selected the block.
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

    // Return 0 iff all of the key's bits are set.
    [[nodiscard]] std::uint64_t missing(const std::uint64_t* block,
                                        std::uint64_t hash) const noexcept {
        std::uint64_t all = 1;
        for (unsigned part = 0; part < bits_; ++part) {
            const std::uint64_t bit = bit_of(part, hash);
            all &= block[bit / 64] >> (bit % 64);
        }
        return all ^ 1;
    }

    [[nodiscard]] bool matches(const std::uint64_t* block, std::uint64_t hash) const noexcept {
        return missing(block, hash) == 0;
    }

    void set(std::uint64_t* block, std::uint64_t hash) const noexcept { set_if(true, block, hash); }

    // Set the bits if `condition`, without a branch on it.
    void set_if(bool condition, std::uint64_t* block, std::uint64_t hash) const noexcept {
        for (unsigned part = 0; part < bits_; ++part) {
            const std::uint64_t bit = bit_of(part, hash);
            block[bit / 64] |= std::uint64_t{condition} << (bit % 64);
        }
    }

    // Return the key's bit in a part. Eight parts share a 64-bit word; each starts at its own
    // digit, stride_ bits apart. That is far enough for neighbours to be independent also if a
    // part's size is no power of two.
    [[nodiscard]] constexpr std::uint64_t bit_of(unsigned part, std::uint64_t hash) const noexcept {
        const std::uint64_t word = hash * kDigitFactor[part / 8];
        return parts_[part].first + reduce(word << (part % 8 * stride_), parts_[part].size);
    }

  private:
    // The last digit begins here at the latest, so that 15 bits are left for it.
    static constexpr unsigned kLastDigit = 49;

    struct Part {
        std::uint16_t first;
        std::uint16_t size;
    };

    unsigned bits_;
    unsigned stride_;
    std::array<Part, kMaxBitsOfKey> parts_{};
};

// A block with B = 512, b = 8, with the same positions as BlockShape(512, 8). Each part is one
// word, so nothing is looked up, and four parts are a vector. sizing picks this shape most often.
class WordParts {
  public:
    [[nodiscard]] static std::uint64_t missing(const std::uint64_t* block,
                                               std::uint64_t hash) noexcept {
        Four low;
        Four high;
        std::memcpy(&low, block, sizeof low);
        std::memcpy(&high, block + 4, sizeof high);
        const std::uint64_t word = hash * kDigitFactor[0];
        const Four four =
            ((kOne << (word << kLow >> 58)) & ~low) | ((kOne << (word << kHigh >> 58)) & ~high);
        const Two half =
            __builtin_shufflevector(four, four, 0, 1) | __builtin_shufflevector(four, four, 2, 3);
        return half[0] | half[1];
    }

    [[nodiscard]] static bool matches(const std::uint64_t* block, std::uint64_t hash) noexcept {
        return missing(block, hash) == 0;
    }

    static void set(std::uint64_t* block, std::uint64_t hash) noexcept {
        set_if(true, block, hash);
    }

    static void set_if(bool condition, std::uint64_t* block, std::uint64_t hash) noexcept {
        Four low;
        Four high;
        std::memcpy(&low, block, sizeof low);
        std::memcpy(&high, block + 4, sizeof high);
        const std::uint64_t word = hash * kDigitFactor[0];
        const std::uint64_t bit = condition ? 1 : 0;
        const Four bits{bit, bit, bit, bit};
        low |= bits << (word << kLow >> 58);
        high |= bits << (word << kHigh >> 58);
        std::memcpy(block, &low, sizeof low);
        std::memcpy(block + 4, &high, sizeof high);
    }

  private:
    // Vector extensions of gcc and clang; they presume no instruction set.
    using Two [[gnu::vector_size(16)]] = std::uint64_t;
    using Four [[gnu::vector_size(32)]] = std::uint64_t;

    static constexpr Four kOne{1, 1, 1, 1};
    // Position of each part's digit in the word.
    static constexpr Four kLow{0, 7, 14, 21};
    static constexpr Four kHigh{28, 35, 42, 49};
};

}  // namespace unecho::filter
