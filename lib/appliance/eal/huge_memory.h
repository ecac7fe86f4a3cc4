// SPDX-License-Identifier: BSD-3-Clause
// Zeroed memory for filters: DPDK's hugepages on the worker's socket where there are any, plain
// pages else (asked to be transparent huge ones).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "base/os/mapped_memory.h"
#include "base/result.h"

namespace unecho::eal {

class HugeMemory {
  public:
    // 64-byte aligned and zeroed.
    static Result<HugeMemory> allocate(std::size_t bytes, int socket, bool has_hugepages);

    [[nodiscard]] std::span<std::byte> bytes() const {
        return dpdk_ ? std::span(dpdk_.get(), dpdk_bytes_) : plain_.bytes();
    }
    [[nodiscard]] bool on_hugepages() const { return dpdk_ != nullptr; }
    // In bytes: 4 KiB, 2 MiB, 1 GiB. Of plain memory what it was asked for in; the kernel may have
    // joined pages since.
    [[nodiscard]] std::uint64_t page_bytes() const;

  private:
    struct Free {
        void operator()(std::byte* data) const noexcept;
    };

    HugeMemory(std::byte* data, std::size_t bytes) : dpdk_(data), dpdk_bytes_(bytes) {}
    explicit HugeMemory(MappedMemory plain) : plain_(std::move(plain)) {}

    std::unique_ptr<std::byte, Free> dpdk_;
    std::size_t dpdk_bytes_ = 0;
    MappedMemory plain_;  // where there is none of DPDK's
};

}  // namespace unecho::eal
