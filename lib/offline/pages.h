// SPDX-License-Identifier: BSD-3-Clause
// Zeroed memory that takes room in the machine only where it was touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/result.h"

namespace unecho::offline {

class Pages {
  public:
    // Errc::kNoMemory.
    static Result<Pages> allocate(std::uint64_t bytes);
    ~Pages();
    Pages(Pages&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}
    Pages& operator=(Pages&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;

    [[nodiscard]] std::span<std::byte> bytes() const { return {data_, size_}; }

  private:
    Pages(std::byte* data, std::size_t size) : data_(data), size_(size) {}

    std::byte* data_;
    std::size_t size_;
};

}  // namespace unecho::offline
