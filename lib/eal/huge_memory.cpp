// SPDX-License-Identifier: BSD-3-Clause
#include "eal/huge_memory.h"

#include <cerrno>
#include <cstring>
#include <string>

#include <rte_malloc.h>
#include <rte_memory.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/units.h"

namespace unecho::eal {

Result<HugeMemory> HugeMemory::allocate(std::size_t bytes, int socket, bool has_hugepages) {
    static constexpr unsigned kAlign = 64;
    if (has_hugepages) {
        void* data = rte_zmalloc_socket("unecho_filter", bytes, kAlign, socket);
        if (data != nullptr) {
            return HugeMemory(static_cast<std::byte*>(data), bytes, false);
        }
    }
    void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) {
        return fail(Errc::kNoMemory, format_size(bytes) + " for a filter: " + std::strerror(errno) +
                                         "; lower rate, window or workers, or give the machine "
                                         "more memory");
    }
    // Best effort: fewer TLB misses where the kernel has transparent hugepages.
    madvise(data, bytes, MADV_HUGEPAGE);
    // Touched now, so that no page fault falls into the packet path.
    std::memset(data, 0, bytes);
    return HugeMemory(static_cast<std::byte*>(data), bytes, true);
}

HugeMemory::~HugeMemory() {
    release();
}

HugeMemory::HugeMemory(HugeMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(other.size_), mapped_(other.mapped_) {}

HugeMemory& HugeMemory::operator=(HugeMemory&& other) noexcept {
    if (this != &other) {
        release();
        data_ = std::exchange(other.data_, nullptr);
        size_ = other.size_;
        mapped_ = other.mapped_;
    }
    return *this;
}

std::uint64_t HugeMemory::page_bytes() const {
    if (!mapped_) {
        const rte_memseg_list* list = rte_mem_virt2memseg_list(data_);
        if (list != nullptr) {
            return list->page_sz;
        }
    }
    return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

void HugeMemory::release() noexcept {
    if (data_ == nullptr) {
        return;
    }
    if (mapped_) {
        munmap(data_, size_);
    } else {
        rte_free(data_);
    }
    data_ = nullptr;
}

}  // namespace unecho::eal
