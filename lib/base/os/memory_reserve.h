// SPDX-License-Identifier: BSD-3-Clause
// Memory set aside for work on this thread that may not fail halfway. When operator new finds none,
// a part of the reserve is freed and the allocation is tried again. For example, nlohmann's library
// allocates while it frees a JSON document, where an exception would end the process.
//
// The last part is for code that runs while an exception propagates. When all other parts are used,
// new throws std::bad_alloc as usual.
//
// If one thread has two, the inner one is used. A reserve does not help other threads.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

namespace unecho {

class MemoryReserve {
  public:
    // Size of a part: small enough for malloc()'s heap, so that a freed part serves smaller
    // allocations. All parts together hold one JSON document for a telemetry reply.
    static constexpr std::size_t kPart = std::size_t{64} * 1024;
    static constexpr std::size_t kParts = 8;

    // Throw std::bad_alloc if there is no memory even for the reserve.
    MemoryReserve();
    ~MemoryReserve();
    MemoryReserve(const MemoryReserve&) = delete;
    MemoryReserve& operator=(const MemoryReserve&) = delete;

    // Return the number of unused parts.
    [[nodiscard]] std::size_t left() const noexcept { return left_; }

  private:
    static void on_want();

    std::array<std::unique_ptr<std::byte[]>, kParts> parts_;
    std::size_t left_ = 0;
    MemoryReserve* outer_ = nullptr;
};

}  // namespace unecho
