// SPDX-License-Identifier: BSD-3-Clause
// Zeroed memory for filters: DPDK's hugepages on the worker's socket where there are any, plain
// pages else (asked to be transparent huge ones).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/result.h"

namespace unecho::eal {

class HugeMemory {
  public:
    // 64-byte aligned and zeroed.
    static Result<HugeMemory> allocate(std::size_t bytes, int socket, bool has_hugepages);
    ~HugeMemory();
    HugeMemory(HugeMemory&& other) noexcept;
    HugeMemory& operator=(HugeMemory&& other) noexcept;
    HugeMemory(const HugeMemory&) = delete;
    HugeMemory& operator=(const HugeMemory&) = delete;

    [[nodiscard]] std::span<std::byte> bytes() const { return {data_, size_}; }
    [[nodiscard]] bool on_hugepages() const { return !mapped_; }
    // In bytes: 4 KiB, 2 MiB, 1 GiB. Of plain memory what it was asked for in; the kernel may have
    // joined pages since.
    [[nodiscard]] std::uint64_t page_bytes() const;

  private:
    HugeMemory(std::byte* data, std::size_t size, bool mapped)
        : data_(data), size_(size), mapped_(mapped) {}
    void release() noexcept;

    std::byte* data_;
    std::size_t size_;
    bool mapped_;
};

}  // namespace unecho::eal
