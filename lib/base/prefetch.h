// SPDX-License-Identifier: BSD-3-Clause
// Prefetch cache lines before they are needed.
#pragma once

#include <cstddef>

namespace unecho {

// Target of a prefetch, as the locality argument of __builtin_prefetch: L1, which can have only ten
// to twenty lines outstanding, or L2.
inline constexpr int kIntoL1 = 3;
inline constexpr int kIntoL2 = 2;

// Size in bytes of a table that fits the L2 cache of most processors. For such a table, prefetching
// many lines for a digest costs more than it saves.
inline constexpr std::size_t kMaxInL2 = std::size_t{1} << 20;

// g++ 12 considers a function that only calls __builtin_prefetch free of effects and removes calls
// to it; the empty asm statement keeps them. Use these two functions, never __builtin_prefetch.
template <int into = kIntoL1>
[[gnu::always_inline]] inline void prefetch_line(const void* at) noexcept {
    __builtin_prefetch(at, 0, into);
    asm volatile("");
}

template <int into = kIntoL1>
[[gnu::always_inline]] inline void prefetch_line_for_write(const void* at) noexcept {
    __builtin_prefetch(at, 1, into);
    asm volatile("");
}

}  // namespace unecho
