// SPDX-License-Identifier: BSD-3-Clause
// Views on the memory that a filter's caller brings. Filters own nothing: the caller allocates
// (filter::bytes() says how much), aligns to a cache line, zeroes, and keeps it for the filter's
// life. What lies in it is private to the filter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/assert.h"

namespace unecho::filter {

inline constexpr std::size_t kCacheLine = 64;
inline constexpr std::size_t kBitsPerLine = 8 * kCacheLine;

// More memory than this for one filter is taken for a mistake.
inline constexpr std::uint64_t kMaxFilterBytes = std::uint64_t{1} << 46;

[[nodiscard]] constexpr std::uint64_t align_to_line(std::uint64_t bytes) noexcept {
    return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

// Cache lines that hold this many bits, in bytes.
[[nodiscard]] constexpr std::uint64_t bytes_for_bits(std::uint64_t bits) noexcept {
    return (bits + kBitsPerLine - 1) / kBitsPerLine * kCacheLine;
}

// The part of the caller's memory that begins at offset and holds count objects of type T. T is
// trivial and all zeroes are a value of it.
template <typename T>
[[nodiscard]] T* carve(std::span<std::byte> memory, std::size_t offset,
                       [[maybe_unused]] std::size_t count) noexcept {
    UNECHO_ASSERT(offset + count * sizeof(T) <= memory.size());
    std::byte* const first = memory.data() + offset;
    UNECHO_ASSERT(reinterpret_cast<std::uintptr_t>(first) % alignof(T) == 0);
    return reinterpret_cast<T*>(first);
}

[[nodiscard]] inline bool line_aligned(std::span<const std::byte> memory) noexcept {
    return reinterpret_cast<std::uintptr_t>(memory.data()) % kCacheLine == 0;
}

}  // namespace unecho::filter
