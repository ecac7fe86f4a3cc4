// SPDX-License-Identifier: BSD-3-Clause
#include "captures/formats/buffer_pool.h"

#include <utility>

namespace unecho::capture {
namespace {

// Free buffers to keep: enough for batches on their way between threads. More are freed, and so are
// larger ones, made for a single large record.
constexpr std::size_t kKept = 16;

}  // namespace

BufferPool::BufferPool(std::size_t size) : size_(size), free_list_(std::make_shared<FreeList>()) {
    free_list_->buffers.reserve(kKept);
}

std::shared_ptr<Bytes> BufferPool::take(std::size_t at_least) {
    std::unique_ptr<Bytes> bytes;
    if (at_least <= size_) {
        const std::lock_guard lock(free_list_->mutex);
        if (!free_list_->buffers.empty()) {
            bytes = std::move(free_list_->buffers.back());
            free_list_->buffers.pop_back();
        }
    }
    if (!bytes) {
        bytes = std::make_unique<Bytes>(at_least <= size_ ? size_ : at_least);
    }
    const auto put_back = [free_list = free_list_, size = size_](Bytes* used) {
        std::unique_ptr<Bytes> owned(used);
        const std::lock_guard lock(free_list->mutex);
        if (owned->size() == size && free_list->buffers.size() < kKept) {
            free_list->buffers.push_back(std::move(owned));
        }
    };
    return {bytes.release(), put_back};
}

}  // namespace unecho::capture
