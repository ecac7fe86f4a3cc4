// SPDX-License-Identifier: BSD-3-Clause
#include "common/mapping.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <sys/mman.h>

#include "base/units.h"

namespace unecho::bench {

Result<Mapping> Mapping::make(std::uint64_t bytes, Pages pages) {
    static constexpr std::uint64_t kHugePage = 2 * 1024 * 1024;
    const bool huge = pages == Pages::kHuge;
    const std::uint64_t page = huge ? kHugePage : 4096;
    const std::uint64_t mapped = (bytes + page - 1) / page * page;
    static constexpr int k2MiB = 21 << MAP_HUGE_SHIFT;
    const int kind = MAP_PRIVATE | MAP_ANONYMOUS | (huge ? MAP_HUGETLB | k2MiB : 0);
    void* data = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, kind, -1, 0);
    if (data == MAP_FAILED) {
        return fail(Errc::kNoMemory,
                    format_size(mapped) + (huge ? " of free 2 MiB hugepages are not there"
                                                : std::string(": ") + std::strerror(errno)));
    }
    if (!huge) {
        madvise(data, mapped, MADV_NOHUGEPAGE);
    }
    std::memset(data, 0, mapped);
    return Mapping(static_cast<std::byte*>(data), bytes, mapped, pages);
}

Mapping::~Mapping() {
    if (data_ != nullptr) {
        munmap(data_, mapped_);
    }
}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(other.size_),
      mapped_(other.mapped_),
      pages_(other.pages_) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(mapped_, other.mapped_);
    std::swap(pages_, other.pages_);
    return *this;
}

}  // namespace unecho::bench
