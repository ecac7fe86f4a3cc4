// SPDX-License-Identifier: BSD-3-Clause
#include "analyze/recent.h"

#include <tuple>

#include <sys/mman.h>

namespace unecho::analyze {
namespace {

// Cache lines: an entry of 64 bytes lies in one.
struct alignas(64) Line {
    std::byte bytes[64];
};
using Lines = std::allocator<Line>;

constexpr std::uintptr_t kHugePage = std::uintptr_t{2} << 20;

void advise_huge_pages(void* start, std::size_t bytes) noexcept {
    const auto begin = reinterpret_cast<std::uintptr_t>(start);
    const std::uintptr_t first = (begin + kHugePage - 1) & ~(kHugePage - 1);
    const std::uintptr_t last = (begin + bytes) & ~(kHugePage - 1);
    if (first < last) {  // without them, only slower
        std::ignore = madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
    }
}

}  // namespace

LazyMemory::LazyMemory(std::size_t bytes) : lines_((bytes + sizeof(Line) - 1) / sizeof(Line)) {
    if (lines_ != 0) {
        start_ = Lines().allocate(lines_);
        advise_huge_pages(start_, bytes);
    }
}

LazyMemory::~LazyMemory() {
    if (start_ != nullptr) {
        Lines().deallocate(static_cast<Line*>(start_), lines_);
    }
}

LazyMemory::LazyMemory(LazyMemory&& other) noexcept
    : start_(std::exchange(other.start_, nullptr)), lines_(std::exchange(other.lines_, 0)) {}

LazyMemory& LazyMemory::operator=(LazyMemory&& other) noexcept {
    std::swap(start_, other.start_);
    std::swap(lines_, other.lines_);
    return *this;
}

}  // namespace unecho::analyze
