// SPDX-License-Identifier: BSD-3-Clause
// An allocator for containers on a known kind of pages. With it the peers' containers use
// hugepages, as unecho's filters do.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <new>
#include <utility>

#include "common/allocations.h"
#include "common/mapping.h"

namespace unecho::bench {

// Large blocks are mappings of their own. Small ones, such as a container's nodes, come from chunks
// and return to lists by size.
class Arena {
  public:
    explicit Arena(Pages pages) noexcept : pages_(pages) {}

    [[nodiscard]] Pages pages() const noexcept { return pages_; }
    // Return the bytes that are mapped at present.
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

    void* allocate(std::size_t bytes) {
        count_allocation();
        const std::size_t size = (bytes + kGranule - 1) / kGranule;
        if (size >= free_.size()) {
            return map(bytes);
        }
        if (void* const memory = free_[size]; memory != nullptr) {
            free_[size] = *static_cast<void**>(memory);
            return memory;
        }
        if (left_ < size * kGranule) {
            next_ = static_cast<std::byte*>(map(kChunk));
            left_ = kChunk;
        }
        left_ -= size * kGranule;
        return std::exchange(next_, next_ + size * kGranule);
    }

    void deallocate(void* memory, std::size_t bytes) noexcept {
        const std::size_t size = (bytes + kGranule - 1) / kGranule;
        if (size >= free_.size()) {
            bytes_ -= bytes;
            mappings_.erase(memory);
            return;
        }
        *static_cast<void**>(memory) = free_[size];
        free_[size] = memory;
    }

  private:
    static constexpr std::size_t kGranule = 16;
    static constexpr std::size_t kChunk = 4 * 1024 * 1024;

    void* map(std::size_t bytes) {
        auto mapping = Mapping::make(bytes, pages_);
        if (!mapping) {
            throw std::bad_alloc();
        }
        void* const memory = mapping->bytes().data();
        mappings_.emplace(memory, std::move(*mapping));
        bytes_ += bytes;
        return memory;
    }

    Pages pages_;
    std::uint64_t bytes_ = 0;
    std::map<void*, Mapping> mappings_;
    std::array<void*, 65> free_{};
    std::byte* next_ = nullptr;
    std::size_t left_ = 0;
};

template <typename T>
class ArenaAllocator {
  public:
    using value_type = T;

    explicit ArenaAllocator(Arena& arena) noexcept : arena_(&arena) {}
    template <typename U>
    ArenaAllocator(const ArenaAllocator<U>& other) noexcept : arena_(&other.arena()) {}

    T* allocate(std::size_t n) { return static_cast<T*>(arena_->allocate(n * sizeof(T))); }
    void deallocate(T* memory, std::size_t n) noexcept {
        arena_->deallocate(memory, n * sizeof(T));
    }
    [[nodiscard]] Arena& arena() const noexcept { return *arena_; }

    template <typename U>
    bool operator==(const ArenaAllocator<U>& other) const noexcept {
        return arena_ == &other.arena();
    }

  private:
    Arena* arena_;
};

}  // namespace unecho::bench
