// SPDX-License-Identifier: BSD-3-Clause
// The sizes of a Time-limited Bloom Filter's slices, one function an equation of "Time-limited
// Bloom Filter", section 3, in whole insertions. Rounding is upwards if the paper leaves it open,
// which keeps every slice within its capacity: in its last generation (4) divides by 1.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <span>

#include "base/units.h"

namespace unecho::filter::growth {

// The load of one slice, in insertions.
struct Load {
    std::uint64_t capacity = 0;
    std::uint64_t inserted = 0;
};

// Return the insertions that fill m bits to 1/2 (1).
[[nodiscard]] inline std::uint64_t capacity_of(std::uint64_t m) noexcept {
    return static_cast<std::uint64_t>(static_cast<double>(m) * std::numbers::ln2);
}

[[nodiscard]] constexpr std::uint64_t ceil_divide(std::uint64_t n, std::uint64_t by) noexcept {
    return n / by + (n % by != 0 ? 1 : 0);
}

// Return the insertions that slice i may still take in this generation (4): its remaining capacity,
// divided by the generations until it is slice k.
[[nodiscard]] constexpr std::uint64_t insertions_left(const Load& slice, unsigned i,
                                                      unsigned k) noexcept {
    return slice.inserted >= slice.capacity ? 0
                                            : ceil_divide(slice.capacity - slice.inserted, k - i);
}

// Return the insertions until the next shift (5). slices: those of positions 0..k-1.
[[nodiscard]] constexpr std::uint64_t until_shift(std::span<const Load> slices) noexcept {
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    for (unsigned i = 0; i < slices.size(); ++i) {
        least =
            std::min(least, insertions_left(slices[i], i, static_cast<unsigned>(slices.size())));
    }
    return least;
}

// Return the insertions of a generation of length window / l (6), at least 1; g came in `elapsed`.
[[nodiscard]] inline std::uint64_t target_generation(std::uint64_t g, Nanoseconds window,
                                                     unsigned l, Nanoseconds elapsed) noexcept {
    constexpr double kMost = 0x1p50;
    constexpr double kRounding = 1e-9;  // so that a generation of exactly window / l keeps its g
    const double lasted = static_cast<double>(std::max<Nanoseconds>(elapsed, 1));
    const double target =
        static_cast<double>(g) * (static_cast<double>(window) / l) / lasted - kRounding;
    return static_cast<std::uint64_t>(std::clamp(std::ceil(target), 1.0, kMost));
}

// Return the capacity of a new slice 0 (7). ahead: the slices then at positions 1..k-1; ahead[0] is
// at position 1. The slice with the fewest insertions left per generation limits all generations
// until it leaves. Once the target is below that limit, the rest have target size.
[[nodiscard]] constexpr std::uint64_t new_slice_capacity(std::span<const Load> ahead,
                                                         std::uint64_t target) noexcept {
    const auto k = static_cast<unsigned>(ahead.size()) + 1;
    std::uint64_t count = 0;
    unsigned i = k;
    while (i > 1) {
        std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
        unsigned limiting = i;
        for (unsigned j = i - 1; j > 0; --j) {
            const Load& slice = ahead[j - 1];
            const std::uint64_t taken = slice.inserted + count;
            const std::uint64_t left =
                taken >= slice.capacity ? 0 : ceil_divide(slice.capacity - taken, i - j);
            if (left <= least) {
                least = left;
                limiting = j;
            }
        }
        if (target <= least) {
            break;
        }
        count += least * (i - limiting);
        i = limiting;
    }
    return count + i * target;
}

// Return the bits for a capacity (8), at least 2k, so that one insertion per generation fits.
[[nodiscard]] inline std::uint64_t bits_for(std::uint64_t capacity, unsigned k) noexcept {
    const double bits = std::ceil(static_cast<double>(capacity) / std::numbers::ln2);
    return std::max(static_cast<std::uint64_t>(bits), std::uint64_t{2} * k);
}

}  // namespace unecho::filter::growth
