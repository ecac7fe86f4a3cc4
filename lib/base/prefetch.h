// SPDX-License-Identifier: BSD-3-Clause
// Asks for cache lines before they are needed.
#pragma once

#include <cstddef>

namespace unecho {

// Into a core's first cache, which has ten to twenty lines on their way and no more, or its second:
// the locality of __builtin_prefetch.
inline constexpr int kIntoL1 = 3;
inline constexpr int kIntoL2 = 2;

// A table that the second cache of most processors holds. Where a digest has many lines, asking for
// them costs more there than it saves.
inline constexpr std::size_t kMaxInL2 = std::size_t{1} << 20;

// To g++ 12 a function that does nothing but __builtin_prefetch does nothing, and it takes the
// calls out; the empty statement keeps them. So nobody calls __builtin_prefetch but these two.
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
