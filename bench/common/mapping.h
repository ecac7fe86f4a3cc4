// SPDX-License-Identifier: BSD-3-Clause
// Zeroed memory on a known kind of pages: 4 KiB pages that stay so, or reserved 2 MiB pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"

namespace unecho::bench {

enum class Pages : std::uint8_t { kPlain, kHuge };

class Mapping {
  public:
    // Return line-aligned, zeroed memory with every page present.
    static Result<Mapping> make(std::uint64_t bytes, Pages pages);
    ~Mapping();
    Mapping(Mapping&& other) noexcept;
    Mapping& operator=(Mapping&& other) noexcept;
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;

    [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {data_, size_}; }
    [[nodiscard]] Pages pages() const noexcept { return pages_; }

  private:
    Mapping(std::byte* data, std::size_t size, std::size_t mapped, Pages pages) noexcept
        : data_(data), size_(size), mapped_(mapped), pages_(pages) {}

    std::byte* data_;
    std::size_t size_;
    std::size_t mapped_;
    Pages pages_;
};

}  // namespace unecho::bench
