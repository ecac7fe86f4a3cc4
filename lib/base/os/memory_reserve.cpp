// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/memory_reserve.h"

#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <utility>

namespace unecho {
namespace {

thread_local MemoryReserve* reserve_of_thread = nullptr;

// Do what the library does without a handler: throw std::bad_alloc or a class derived from it.
void refuse() {
    constexpr std::size_t kMoreThanThereCanBe = std::numeric_limits<std::size_t>::max();
    static_cast<void>(std::allocator<std::max_align_t>().allocate(kMoreThanThereCanBe));
}

}  // namespace

MemoryReserve::MemoryReserve() {
    for (auto& part : parts_) {
        part.reset(new std::byte[kPart]);  // not zeroed, so not touched
        ++left_;
    }
    // The process has one handler for all threads. It throws in those without a reserve.
    [[maybe_unused]] static const auto before = std::set_new_handler(on_want);
    outer_ = std::exchange(reserve_of_thread, this);
}

MemoryReserve::~MemoryReserve() {
    reserve_of_thread = outer_;
}

// Called by operator new, repeatedly, until it has found memory or this throws.
void MemoryReserve::on_want() {
    MemoryReserve* const reserve = reserve_of_thread;
    const std::size_t kept = std::uncaught_exceptions() > 0 ? 0 : 1;
    if (reserve == nullptr || reserve->left_ <= kept) {
        return refuse();
    }
    reserve->parts_.at(--reserve->left_).reset();
}

}  // namespace unecho
