// SPDX-License-Identifier: BSD-3-Clause
// A pool of buffers for batches. A buffer comes back when the last batch in it is gone, on whatever
// thread that is. Private to captures.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "captures/record.h"

namespace unecho::capture {

class BufferPool {
  public:
    explicit BufferPool(std::size_t size);

    // Return a buffer of at least so many bytes, and at least size(), with undefined contents.
    [[nodiscard]] std::shared_ptr<Bytes> take(std::size_t at_least);

    [[nodiscard]] std::size_t size() const { return size_; }

  private:
    // Shared with the buffers in use, because they may outlive the pool.
    struct FreeList {
        std::mutex mutex;
        std::vector<std::unique_ptr<Bytes>> buffers;
    };

    std::size_t size_;
    std::shared_ptr<FreeList> free_list_;
};

}  // namespace unecho::capture
