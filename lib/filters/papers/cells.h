// SPDX-License-Identifier: BSD-3-Clause
// Arrays of bits and of small counters, for the filters of this folder.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/assert.h"
#include "base/prefetch.h"
#include "filters/hash/digest.h"
#include "filters/positions.h"
#include "filters/storage.h"

namespace unecho::filter::baseline {

class BitArray {
  public:
    [[nodiscard]] static constexpr std::uint64_t bytes(std::uint64_t bits) noexcept {
        return bytes_for_bits(bits);
    }

    // Use bytes(bits) of the memory from `offset` on.
    BitArray(std::uint64_t bits, std::span<std::byte> memory, std::size_t offset = 0) noexcept
        : bytes_(bytes(bits)), words_(carve<std::uint64_t>(memory, offset, bytes(bits) / 8)) {
        UNECHO_ASSERT(line_aligned(memory));
    }

    [[nodiscard]] bool test(std::uint64_t bit) const noexcept {
        return (words_[bit / 64] >> (bit % 64) & 1) != 0;
    }
    void set(std::uint64_t bit) noexcept { words_[bit / 64] |= std::uint64_t{1} << (bit % 64); }
    void prefetch(std::uint64_t bit) const noexcept { prefetch_line_for_write(&words_[bit / 64]); }
    void clear() noexcept { std::memset(words_, 0, bytes_); }

    [[nodiscard]] std::uint64_t* words() noexcept { return words_; }
    [[nodiscard]] const std::uint64_t* words() const noexcept { return words_; }

  private:
    std::uint64_t bytes_;
    std::uint64_t* words_;
};

// Counters of 1, 2, 4 or 8 bits.
class Cells {
  public:
    [[nodiscard]] static constexpr std::uint64_t bytes(std::uint64_t cells,
                                                       unsigned width) noexcept {
        return bytes_for_bits(cells * width);
    }

    Cells(std::uint64_t cells, unsigned width, std::span<std::byte> memory) noexcept
        : bytes_(bytes(cells, width)),
          words_(carve<std::uint64_t>(memory, 0, bytes(cells, width) / 8)),
          log2_width_(static_cast<unsigned>(std::countr_zero(width))),
          mask_((std::uint64_t{1} << width) - 1) {
        UNECHO_ASSERT(line_aligned(memory) && std::has_single_bit(width) && width <= 8);
    }

    [[nodiscard]] std::uint64_t get(std::uint64_t cell) const noexcept {
        return words_[word_of(cell)] >> shift_of(cell) & mask_;
    }
    void put(std::uint64_t cell, std::uint64_t value) noexcept {
        std::uint64_t& word = words_[word_of(cell)];
        const unsigned shift = shift_of(cell);
        word = (word & ~(mask_ << shift)) | value << shift;
    }
    [[nodiscard]] std::uint64_t largest() const noexcept { return mask_; }
    void prefetch(std::uint64_t cell) const noexcept {
        prefetch_line_for_write(&words_[word_of(cell)]);
    }
    void clear() noexcept { std::memset(words_, 0, bytes_); }

  private:
    [[nodiscard]] std::uint64_t word_of(std::uint64_t cell) const noexcept {
        return (cell << log2_width_) / 64;
    }
    [[nodiscard]] unsigned shift_of(std::uint64_t cell) const noexcept {
        return static_cast<unsigned>((cell << log2_width_) % 64);
    }

    std::uint64_t bytes_;
    std::uint64_t* words_;
    unsigned log2_width_;
    std::uint64_t mask_;
};

}  // namespace unecho::filter::baseline
