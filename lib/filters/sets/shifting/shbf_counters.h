// SPDX-License-Identifier: BSD-3-Clause
// Packed counters of z bits, for the counting forms of the shifting Bloom filters.
//
// A counter that reaches 2^z - 1 is saturated: its true value is unknown, and it stays. A lower one
// holds exactly the additions minus the removals. Removing from zero leaves zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "filters/bits.h"
#include "filters/sets/shifting/shbf_shape.h"
#include "filters/storage.h"

namespace unecho::filter {

inline constexpr unsigned kMinCounterBits = 2;
inline constexpr unsigned kMaxCounterBits = 16;

class ShbfCounters {
  public:
    // Return the memory of `count` counters, with the bytes that 64-bit loads reach behind the
    // last, in whole cache lines.
    [[nodiscard]] static constexpr std::uint64_t bytes(std::uint64_t count, unsigned z) noexcept {
        return align_to_line((count - 1) * z / 8 + sizeof(std::uint64_t));
    }

    ShbfCounters(std::byte* array, unsigned z) noexcept
        : array_(array), bits_(z), saturated_((std::uint64_t{1} << z) - 1) {}

    [[nodiscard]] std::uint64_t at(std::uint64_t index) const noexcept {
        std::uint64_t word;
        std::memcpy(&word, array_ + index * bits_ / 8, sizeof word);
        return word >> (index * bits_ % 8) & saturated_;
    }

    void add(std::uint64_t index) noexcept {
        if (at(index) != saturated_) {
            change(index, 1);
        }
    }

    void remove(std::uint64_t index) noexcept {
        if (const std::uint64_t value = at(index); value != 0 && value != saturated_) {
            change(index, ~std::uint64_t{0});
        }
    }

  private:
    // Add to the word that holds the counter, which must not overflow.
    void change(std::uint64_t index, std::uint64_t amount) noexcept {
        std::byte* const first = array_ + index * bits_ / 8;
        std::uint64_t word;
        std::memcpy(&word, first, sizeof word);
        word += amount << (index * bits_ % 8);
        std::memcpy(first, &word, sizeof word);
    }

    std::byte* array_;
    unsigned bits_;
    std::uint64_t saturated_;
};

// Counters next to an array of bits; a bit is set if and only if its counter is not zero.
class CountedBits {
  public:
    CountedBits(std::byte* bits, ShbfCounters counters) noexcept
        : bits_(bits), counters_(counters) {}

    void add(std::uint64_t index) noexcept {
        counters_.add(index);
        set_bit(bits_, index);
    }

    void remove(std::uint64_t index) noexcept {
        counters_.remove(index);
        if (counters_.at(index) == 0) {
            clear_bit(bits_, index);
        }
    }

  private:
    std::byte* bits_;
    ShbfCounters counters_;
};

}  // namespace unecho::filter
