// SPDX-License-Identifier: BSD-3-Clause
// Views of the memory that a filter's caller brings. Filters own nothing: the caller allocates
// (bytes() of the filter says how much), aligns to a cache line, zeroes, and keeps the memory for
// the filter's life. Its contents are private to the filter.
//
// A RestorableFilter keeps its whole state in this memory. A filter with the same parameters, also
// in another process, can resume it, wherever the previous process was killed. Each change was then
// either complete or not begun; otherwise is_consistent() returns false.
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

// A filter larger than this is taken for a configuration mistake.
inline constexpr std::uint64_t kMaxFilterBytes = std::uint64_t{1} << 46;

[[nodiscard]] constexpr std::uint64_t align_to_line(std::uint64_t bytes) noexcept {
    return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

// Return the bytes of as many cache lines as hold this many bits.
[[nodiscard]] constexpr std::uint64_t bytes_for_bits(std::uint64_t bits) noexcept {
    return (bits + kBitsPerLine - 1) / kBitsPerLine * kCacheLine;
}

// Return `count` objects of a trivial type T at `offset`. All zero bytes must be a valid T.
template <typename T>
[[nodiscard]] T* carve(std::span<std::byte> memory, std::size_t offset,
                       [[maybe_unused]] std::size_t count) noexcept {
    UNECHO_ASSERT(offset + count * sizeof(T) <= memory.size());
    std::byte* const first = memory.data() + offset;
    UNECHO_ASSERT(reinterpret_cast<std::uintptr_t>(first) % alignof(T) == 0);
    return reinterpret_cast<T*>(first);
}

// Contents of the memory that a filter is given.
enum class Contents : std::uint8_t {
    kZero,
    kRestored,  // left by a filter with the same parameters; is_consistent() returned true
};

// Brackets around changes of several words that are only valid together. When a process is killed,
// everything before its last instruction in program order is done and nothing after it. So it is
// enough to keep the compiler from reordering. (model: tests/models/torn.pml)
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
    // Return true if a change was interrupted.
    [[nodiscard]] bool is_interrupted() const noexcept { return begun_ != ended_; }

  private:
    std::uint64_t begun_ = 0;
    std::uint64_t ended_ = 0;
};

[[nodiscard]] inline bool line_aligned(std::span<const std::byte> memory) noexcept {
    return reinterpret_cast<std::uintptr_t>(memory.data()) % kCacheLine == 0;
}

template <typename F, typename Params>
concept RestorableFilter = requires(const Params& params, std::span<std::byte> memory) {
    // Return true if no change was interrupted and the contents are possible for these parameters.
    // Memory that no filter has used, all zeroes or all ones, is not.
    { F::is_consistent(params, memory) } -> std::same_as<bool>;
    F(params, memory, Contents::kRestored);
};

}  // namespace unecho::filter
