// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/collect/recent_table.h"

#include <algorithm>
#include <memory_resource>
#include <tuple>

#include <sys/mman.h>

#include "base/os/mapped_memory.h"

namespace unecho::analyze {
namespace {

// A large page is cleared as a whole, so small tables do without.
constexpr std::size_t kInSmallPages = std::size_t{1} << 20;

}  // namespace

LazyPages::LazyPages(std::size_t bytes) : begin_(nullptr, Unmap{bytes}) {
    if (bytes == 0) {
        return;
    }
    void* const begin =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (begin == MAP_FAILED) {
        std::ignore = std::pmr::null_memory_resource()->allocate(bytes);  // throws
    }
    begin_.reset(static_cast<std::byte*>(begin));
    const std::size_t small = std::min(bytes, kInSmallPages);
    advise_huge_pages(begin_.get() + small, bytes - small);
}

void LazyPages::Unmap::operator()(std::byte* begin) const noexcept {
    munmap(begin, bytes);
}

}  // namespace unecho::analyze
