// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/mapped_memory.h"

#include <cerrno>
#include <cstring>
#include <system_error>
#include <tuple>

#include <sys/mman.h>

namespace unecho {

void advise_huge_pages(void* begin, std::size_t bytes) noexcept {
    constexpr std::uintptr_t kHugePage = std::uintptr_t{2} << 20;
    const auto at = reinterpret_cast<std::uintptr_t>(begin);
    const std::uintptr_t first = (at + kHugePage - 1) & ~(kHugePage - 1);
    const std::uintptr_t last = (at + bytes) & ~(kHugePage - 1);
    if (first < last) {
        std::ignore = madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
    }
}

Result<MappedMemory> MappedMemory::make(std::size_t bytes, Touch touch) {
    const int reserve = touch == Touch::kLater ? MAP_NORESERVE : 0;
    void* const begin =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | reserve, -1, 0);
    if (begin == MAP_FAILED) {
        return fail(Errc::kNoMemory, std::generic_category().message(errno));
    }
    MappedMemory out({static_cast<std::byte*>(begin), bytes});
    advise_huge_pages(begin, bytes);
    if (touch == Touch::kNow) {
        std::memset(begin, 0, bytes);
    }
    return out;
}

MappedMemory::~MappedMemory() {
    if (!bytes_.empty()) {
        munmap(bytes_.data(), bytes_.size());
    }
}

}  // namespace unecho
