// SPDX-License-Identifier: BSD-3-Clause
// The memory of batches, used again when the last batch in it is gone, on whatever thread that is.
// Private to capture.
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

    // At least so many bytes, and never fewer than the size of the others. The contents are
    // anything.
    [[nodiscard]] std::shared_ptr<Bytes> take(std::size_t at_least);

    [[nodiscard]] std::size_t size() const { return size_; }

  private:
    // Outlives the pool as long as one of its buffers does.
    struct FreeList {
        std::mutex mutex;
        std::vector<std::unique_ptr<Bytes>> buffers;
    };

    std::size_t size_;
    std::shared_ptr<FreeList> free_list_;
};

}  // namespace unecho::capture
