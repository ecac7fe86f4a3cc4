// SPDX-License-Identifier: BSD-3-Clause
// Zeroed memory for filters: DPDK's hugepages on the worker's socket if there are any, else plain
// pages (as transparent huge pages, if the kernel grants them).
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
    // Allocate zeroed memory, aligned to 64 bytes.
    static Result<HugeMemory> allocate(std::size_t bytes, int socket, bool has_hugepages);

    [[nodiscard]] std::span<std::byte> bytes() const {
        return dpdk_ ? std::span(dpdk_.get(), dpdk_bytes_) : plain_.bytes();
    }
    [[nodiscard]] bool on_hugepages() const { return dpdk_ != nullptr; }
    // Return the size of a page: 4 KiB, 2 MiB, 1 GiB. For plain memory it is the size that was
    // requested; the kernel may have merged pages since.
    [[nodiscard]] std::uint64_t page_bytes() const;

  private:
    struct Free {
        void operator()(std::byte* data) const noexcept;
    };

    HugeMemory(std::byte* data, std::size_t bytes) : dpdk_(data), dpdk_bytes_(bytes) {}
    explicit HugeMemory(MappedMemory plain) : plain_(std::move(plain)) {}

    std::unique_ptr<std::byte, Free> dpdk_;
    std::size_t dpdk_bytes_ = 0;
    MappedMemory plain_;  // if there is none of DPDK's
};

}  // namespace unecho::eal
