// SPDX-License-Identifier: BSD-3-Clause
// Memory that lies aside for work on this thread that may not fail halfway: where operator new
// finds none, a part of it is given back, and the allocation is tried again. What frees a document
// of JSON, for one, asks for memory (nlohmann's), where an exception ends the process.
//
// The last part is for what runs while an exception leaves: when all others are gone, new throws
// std::bad_alloc, as everywhere else.
//
// Of two on one thread the inner one is asked. May not: help another thread.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

namespace unecho {

class MemoryReserve {
  public:
    // As much as a document takes that telemetry answers from; in parts that malloc() takes from
    // its heap, and so gives to smaller allocations once they are free.
    static constexpr std::size_t kPart = std::size_t{64} * 1024;
    static constexpr std::size_t kParts = 8;

    // std::bad_alloc: there is no memory even for it.
    MemoryReserve();
    ~MemoryReserve();
    MemoryReserve(const MemoryReserve&) = delete;
    MemoryReserve& operator=(const MemoryReserve&) = delete;

    // Parts that have not been needed.
    [[nodiscard]] std::size_t left() const noexcept { return left_; }

  private:
    static void on_want();

    std::array<std::unique_ptr<std::byte[]>, kParts> parts_;
    std::size_t left_ = 0;
    MemoryReserve* outer_ = nullptr;
};

}  // namespace unecho
