// SPDX-License-Identifier: BSD-3-Clause
// Views on the memory that a filter's caller brings. Filters own nothing: the caller allocates
// (filter::bytes() says how much), aligns to a cache line, zeroes, and keeps it for the filter's
// life. What lies in it is private to the filter.
//
// Filters that can be kept (RestorableFilter) have all that they know there: another one with the
// same parameters, in another process too, goes on with the memory of one that is no more, wherever
// that one was cut off. What it was about to do then it either had done, or not begun, or
// is_consistent() says no.
#pragma once

#include <atomic>
#include <concepts>
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

// What lies in the memory that a filter is given.
enum class Contents : std::uint8_t {
    kZero,
    kRestored,  // what a filter with the same parameters left there; is_consistent() was asked
};

// Around changes of several words that mean nothing one by one. A process that is killed has done
// what stands before its last instruction in the program and nothing that stands behind it, so the
// order of the compiler's is all that is needed. (model: tests/models/torn.pml)
class WriteGuard {
  public:
    void begin() noexcept {
        ++begun_;
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    void end() noexcept {
        std::atomic_signal_fence(std::memory_order_seq_cst);
        ended_ = begun_;
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    // Cut off in between.
    [[nodiscard]] bool torn() const noexcept { return begun_ != ended_; }

  private:
    std::uint64_t begun_ = 0;
    std::uint64_t ended_ = 0;
};

[[nodiscard]] inline bool line_aligned(std::span<const std::byte> memory) noexcept {
    return reinterpret_cast<std::uintptr_t>(memory.data()) % kCacheLine == 0;
}

template <typename F, typename Params>
concept RestorableFilter = requires(const Params& params, std::span<std::byte> memory) {
    // Nothing was torn, and nothing lies in it that no filter with these parameters leaves.
    { F::is_consistent(params, memory) } -> std::same_as<bool>;
    F(params, memory, Contents::kRestored);
};

}  // namespace unecho::filter
