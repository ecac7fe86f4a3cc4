// SPDX-License-Identifier: BSD-3-Clause
#include "common/allocations.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace unecho::bench {
namespace {

std::atomic<std::uint64_t> count{0};

void* allocate(std::size_t size, std::size_t align) {
    count_allocation();
    const std::size_t whole = (size + align - 1) / align * align;
    void* memory = align <= alignof(std::max_align_t) ? std::malloc(size == 0 ? 1 : size)
                                                      : std::aligned_alloc(align, whole);
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    return memory;
}

}  // namespace

std::uint64_t allocations() noexcept {
    return count.load(std::memory_order_relaxed);
}

void count_allocation() noexcept {
    count.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace unecho::bench

void* operator new(std::size_t size) {
    return unecho::bench::allocate(size, alignof(std::max_align_t));
}

void* operator new(std::size_t size, std::align_val_t align) {
    return unecho::bench::allocate(size, static_cast<std::size_t>(align));
}

void operator delete(void* memory) noexcept {
    std::free(memory);
}

void operator delete(void* memory, std::size_t /*size*/) noexcept {
    std::free(memory);
}

void operator delete(void* memory, std::align_val_t /*align*/) noexcept {
    std::free(memory);
}

void operator delete(void* memory, std::size_t /*size*/, std::align_val_t /*align*/) noexcept {
    std::free(memory);
}
