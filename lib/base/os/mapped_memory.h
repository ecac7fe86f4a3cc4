// SPDX-License-Identifier: BSD-3-Clause
// Large zeroed memory straight from the kernel, in whole pages. Transparent hugepages, where
// available, save TLB misses and page faults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/result.h"

namespace unecho {

// Request transparent hugepages for the 2 MiB pages in this memory. It is slower without them.
void advise_huge_pages(void* begin, std::size_t bytes) noexcept;

class MappedMemory {
  public:
    enum class Touch : std::uint8_t {
        kLater,  // takes room only when touched; may exceed the machine's memory
        kNow,    // all pages are allocated now: no page fault comes later
    };

    // Return Errc::kNoMemory on failure, with the reason only: the caller adds the purpose.
    static Result<MappedMemory> make(std::size_t bytes, Touch touch);

    MappedMemory() = default;  // empty
    ~MappedMemory();
    MappedMemory(MappedMemory&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
    MappedMemory& operator=(MappedMemory&& other) noexcept {
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    MappedMemory(const MappedMemory&) = delete;
    MappedMemory& operator=(const MappedMemory&) = delete;

    [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }

  private:
    explicit MappedMemory(std::span<std::byte> bytes) : bytes_(bytes) {}

    std::span<std::byte> bytes_;
};

}  // namespace unecho
