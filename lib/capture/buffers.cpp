// SPDX-License-Identifier: BSD-3-Clause
#include "capture/buffers.h"

#include <utility>

namespace unecho::capture {
namespace {

// Enough for batches on their way between threads; more are given back to the system, as are
// larger ones, which a single large record needed.
constexpr std::size_t kKept = 16;

}  // namespace

Buffers::Buffers(std::size_t size) : size_(size), shelf_(std::make_shared<Shelf>()) {
    shelf_->buffers.reserve(kKept);
}

std::shared_ptr<Bytes> Buffers::take(std::size_t at_least) {
    std::unique_ptr<Bytes> bytes;
    if (at_least <= size_) {
        const std::lock_guard lock(shelf_->mutex);
        if (!shelf_->buffers.empty()) {
            bytes = std::move(shelf_->buffers.back());
            shelf_->buffers.pop_back();
        }
    }
    if (!bytes) {
        bytes = std::make_unique<Bytes>(at_least <= size_ ? size_ : at_least);
    }
    const auto put_back = [shelf = shelf_, size = size_](Bytes* used) {
        std::unique_ptr<Bytes> owned(used);
        const std::lock_guard lock(shelf->mutex);
        if (owned->size() == size && shelf->buffers.size() < kKept) {
            shelf->buffers.push_back(std::move(owned));
        }
    };
    return {bytes.release(), put_back};
}

}  // namespace unecho::capture
