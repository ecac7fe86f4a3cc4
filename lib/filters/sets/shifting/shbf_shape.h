// SPDX-License-Identifier: BSD-3-Clause
// Module filters/sets: set filters of the papers, which do not age. Membership (shbf_m.h),
// association (shbf_a.h, used by the tap report), multiplicity (shbf_x.h), slices over sites
// (../sliced.h), growth (../growing.h), trees (../bloom_tree.h). It may not use filters/window.
//
// This header has the parts that all shifting Bloom filters share: positions in an array of m bits,
// and at each a stretch of bits that one unaligned 64-bit load reads. Auxiliary information about
// an element is an offset: how far behind its positions its bits are set.
//
// ShbfShape is a filter over raw memory, for one hash at a time, any array and any m. Larger
// structures, such as one array for each segment, are made of it. It keeps and checks nothing.
//
// References: Shifting Bloom Filter, section 3.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/int128.h"
#include "base/prefetch.h"
#include "filters/hash/digest.h"
#include "filters/storage.h"

namespace unecho::filter {

static_assert(std::endian::native == std::endian::little, "bit i of an array is in byte i / 8");

// The paper's w-bar for words of w = 64 bits. A load at a byte boundary holds at least w - 7 bits
// from any bit of that byte on, so offsets are less than w-bar.
inline constexpr unsigned kMaxWBar = 57;

// Load the array from this bit on. The lowest 57 bits are valid, those above are not.
[[nodiscard]] inline std::uint64_t load_bits(const std::byte* array, std::uint64_t bit) noexcept {
    std::uint64_t word;
    std::memcpy(&word, array + bit / 8, sizeof word);
    return word >> (bit % 8);
}

// Set the bits of a 57-bit mask from this bit on. Return those that were clear.
inline std::uint64_t or_bits(std::byte* array, std::uint64_t bit, std::uint64_t mask) noexcept {
    std::uint64_t word;
    std::memcpy(&word, array + bit / 8, sizeof word);
    const std::uint64_t clear = mask & ~(word >> (bit % 8));
    word |= mask << (bit % 8);
    std::memcpy(array + bit / 8, &word, sizeof word);
    return clear;
}

// Return the size of an array of m bits and of the bits reached behind its end, in whole lines.
[[nodiscard]] constexpr std::uint64_t shifting_bytes(std::uint64_t m) noexcept {
    return align_to_line((m - 1) / 8 + sizeof(std::uint64_t));
}

// The stretch may reach into the next cache line: for 7 of 64 bytes it ends there.
inline void prefetch_bits(const std::byte* array, std::uint64_t bit) noexcept {
    prefetch_line(array + bit / 8);
    prefetch_line(array + bit / 8 + sizeof(std::uint64_t) - 1);
}

// Return where a hash's i-th stretch begins, on [0, m).
[[nodiscard]] constexpr std::uint64_t first_bit_of(std::uint64_t hash, unsigned i,
                                                   std::uint64_t m) noexcept {
    return reduce(remix(hash, i + 1), m);
}

// Digits of any size, drawn from a hash one after the other like those of a fraction. Each is
// uniform and independent of the others while the product of sizes is far below 2^64.
class OffsetDigits {
  public:
    explicit constexpr OffsetDigits(std::uint64_t hash) noexcept : fraction_(remix(hash, 0)) {}

    // Return the next digit, on [0, size).
    constexpr unsigned next(unsigned size) noexcept {
        const uint128 product = static_cast<uint128>(fraction_) * size;
        fraction_ = static_cast<std::uint64_t>(product);
        return static_cast<unsigned>(product >> 64);
    }

  private:
    std::uint64_t fraction_;
};

// The membership filter ShBF_M with t shifts. An element has k bits in k / (t + 1) groups. A group
// is a bit at a position of its own and t more behind it, at offsets that all groups of the element
// share. Each shift has one of t ranges of (w_bar - 1) / t offsets, from 1 on.
//
// hash: 64 well-mixed bits; k: a multiple of t + 1; array: of shifting_bytes(m).
class ShbfShape {
  public:
    constexpr ShbfShape(unsigned k, unsigned t, unsigned w_bar) noexcept
        : groups_(k / (t + 1)), shifts_(t), range_((w_bar - 1) / t) {}

    [[nodiscard]] constexpr unsigned groups() const noexcept { return groups_; }

    // Return the bits of a group, relative to its position.
    [[nodiscard]] constexpr std::uint64_t pattern(std::uint64_t hash) const noexcept {
        OffsetDigits digits(hash);
        std::uint64_t bits = 1;
        for (unsigned shift = 0; shift < shifts_; ++shift) {
            bits |= std::uint64_t{1} << (shift * range_ + 1 + digits.next(range_));
        }
        return bits;
    }

    [[nodiscard]] bool matches(const std::byte* array, std::uint64_t m,
                               std::uint64_t hash) const noexcept {
        const std::uint64_t bits = pattern(hash);
        for (unsigned group = 0; group < groups_; ++group) {
            if ((bits & ~load_bits(array, first_bit_of(hash, group, m))) != 0) {
                return false;
            }
        }
        return true;
    }

    // Set the bits; return true if one of them was clear.
    bool set(std::byte* array, std::uint64_t m, std::uint64_t hash) const noexcept {
        const std::uint64_t bits = pattern(hash);
        std::uint64_t clear = 0;
        for (unsigned group = 0; group < groups_; ++group) {
            clear |= or_bits(array, first_bit_of(hash, group, m), bits);
        }
        return clear != 0;
    }

    void prefetch(const std::byte* array, std::uint64_t m, std::uint64_t hash) const noexcept {
        for (unsigned group = 0; group < groups_; ++group) {
            prefetch_bits(array, first_bit_of(hash, group, m));
        }
    }

  private:
    unsigned groups_;
    unsigned shifts_;
    unsigned range_;
};

}  // namespace unecho::filter
