// SPDX-License-Identifier: BSD-3-Clause
// Access to single bits in memory of any alignment.
#pragma once

#include <cstddef>
#include <cstdint>

namespace unecho::filter {

[[nodiscard]] inline bool test_bit(const std::byte* memory, std::uint64_t bit) noexcept {
    return (memory[bit / 8] >> (bit % 8) & std::byte{1}) != std::byte{0};
}

// Set the bit. Return true if it was clear.
inline bool set_bit(std::byte* memory, std::uint64_t bit) noexcept {
    const bool clear = !test_bit(memory, bit);
    memory[bit / 8] |= std::byte{1} << (bit % 8);
    return clear;
}

inline void clear_bit(std::byte* memory, std::uint64_t bit) noexcept {
    memory[bit / 8] &= ~(std::byte{1} << (bit % 8));
}

}  // namespace unecho::filter
