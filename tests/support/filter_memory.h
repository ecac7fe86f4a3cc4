// SPDX-License-Identifier: BSD-3-Clause
// Memory for a filter under test: zeroed, line-aligned and of exactly the requested size, so that a
// sanitizer reports the first byte beyond it.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>

namespace unecho::test {

class FilterMemory {
  public:
    explicit FilterMemory(std::size_t bytes)
        : bytes_(bytes), data_(static_cast<std::byte*>(::operator new(bytes, kAlignment))) {
        std::memset(data_.get(), 0, bytes);
    }

    [[nodiscard]] std::span<std::byte> span() const { return {data_.get(), bytes_}; }

  private:
    static constexpr std::align_val_t kAlignment{64};
    struct Delete {
        void operator()(std::byte* data) const { ::operator delete(data, kAlignment); }
    };
    std::size_t bytes_;
    std::unique_ptr<std::byte, Delete> data_;
};

}  // namespace unecho::test
