// SPDX-License-Identifier: BSD-3-Clause
// Large zeroed memory, straight from the kernel: in whole pages, in transparent hugepages where it
// has any, which means fewer TLB misses and page faults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/result.h"

namespace unecho {

// Asks for transparent hugepages wherever whole ones lie in this memory. Without them it is slower.
void advise_huge_pages(void* begin, std::size_t bytes) noexcept;

class MappedMemory {
  public:
    enum class Touch : std::uint8_t {
        kLater,  // takes room only where it was touched; more than the machine has may be asked for
        kNow,    // all of it is there: no page fault comes later
    };

    // Errc::kNoMemory, whose context is the reason alone: what it was for the caller knows.
    static Result<MappedMemory> make(std::size_t bytes, Touch touch);

    MappedMemory() = default;  // none
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
