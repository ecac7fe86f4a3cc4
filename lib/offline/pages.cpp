// SPDX-License-Identifier: BSD-3-Clause
#include "offline/pages.h"

#include <cerrno>
#include <system_error>

#include <sys/mman.h>

#include "base/units.h"

namespace unecho::offline {

Result<Pages> Pages::allocate(std::uint64_t bytes) {
    void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED) {
        return fail(Errc::kNoMemory, format_size(bytes) + " to remember packets: " +
                                         std::generic_category().message(errno) +
                                         "; lower --memory");
    }
    // Best effort: fewer TLB misses and page faults where the kernel has transparent hugepages.
    madvise(data, bytes, MADV_HUGEPAGE);
    return Pages(static_cast<std::byte*>(data), bytes);
}

Pages::~Pages() {
    if (data_ != nullptr) {
        munmap(data_, size_);
    }
}

}  // namespace unecho::offline
