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

// As the library does where nobody has a handler: std::bad_alloc, or what is one.
void refuse() {
    constexpr std::size_t kMoreThanThereCanBe = std::numeric_limits<std::size_t>::max();
    static_cast<void>(std::allocator<std::max_align_t>().allocate(kMoreThanThereCanBe));
}

}  // namespace

MemoryReserve::MemoryReserve() {
    for (auto& part : parts_) {
        part.reset(new std::byte[kPart]);  // not zeroed: it is not touched
        ++left_;
    }
    // Of the process, and the same for every thread: who has no reserve is refused.
    [[maybe_unused]] static const auto before = std::set_new_handler(on_want);
    outer_ = std::exchange(reserve_of_thread, this);
}

MemoryReserve::~MemoryReserve() {
    reserve_of_thread = outer_;
}

// By operator new, again and again until it has found memory or is refused.
void MemoryReserve::on_want() {
    MemoryReserve* const reserve = reserve_of_thread;
    const std::size_t kept = std::uncaught_exceptions() > 0 ? 0 : 1;
    if (reserve == nullptr || reserve->left_ <= kept) {
        return refuse();
    }
    reserve->parts_.at(--reserve->left_).reset();
}

}  // namespace unecho
