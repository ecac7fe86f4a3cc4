// SPDX-License-Identifier: BSD-3-Clause
// Operations on packet masks: bit i belongs to packet i of a burst.
#pragma once

#include <bit>
#include <cstdint>

namespace unecho::pipeline {

[[nodiscard]] constexpr std::uint64_t first_bits(unsigned n) noexcept {
    return n >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
}

template <typename Function>
constexpr void for_each_bit(std::uint64_t mask, Function&& function) noexcept {
    for (; mask != 0; mask &= mask - 1) {
        function(static_cast<unsigned>(std::countr_zero(mask)));
    }
}

// Place the low bits of value, in order, where mask has ones (as PDEP does).
[[nodiscard]] constexpr std::uint64_t deposit_bits(std::uint64_t value,
                                                   std::uint64_t mask) noexcept {
    std::uint64_t out = 0;
    for (unsigned i = 0; mask != 0; mask &= mask - 1, ++i) {
        if ((value >> i & 1) != 0) {
            out |= mask & -mask;
        }
    }
    return out;
}

// Gather the bits of value where mask has ones, in order (as PEXT does). Fast for few bits.
[[nodiscard]] constexpr std::uint64_t extract_bits(std::uint64_t value,
                                                   std::uint64_t mask) noexcept {
    std::uint64_t out = 0;
    for_each_bit(value & mask, [&](unsigned i) {
        out |= std::uint64_t{1} << std::popcount(mask & first_bits(i));
    });
    return out;
}

}  // namespace unecho::pipeline
