// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/eal/huge_memory.h"

#include <fmt/core.h>
#include <rte_malloc.h>
#include <rte_memory.h>
#include <unistd.h>

#include "base/units.h"

namespace unecho::eal {

Result<HugeMemory> HugeMemory::allocate(std::size_t bytes, int socket, bool has_hugepages) {
    static constexpr unsigned kAlign = 64;
    if (has_hugepages) {
        void* data = rte_zmalloc_socket("unecho_filter", bytes, kAlign, socket);
        if (data != nullptr) {
            return HugeMemory(static_cast<std::byte*>(data), bytes);
        }
    }
    // Touched now, so that no page fault happens in the packet path.
    auto plain = MappedMemory::make(bytes, MappedMemory::Touch::kNow);
    if (!plain) {
        return fail(Errc::kNoMemory, fmt::format("{} for a filter: {}; lower rate, window or "
                                                 "workers, or give the machine more memory",
                                                 format_size(bytes), plain.error().context));
    }
    return HugeMemory(std::move(*plain));
}

void HugeMemory::Free::operator()(std::byte* data) const noexcept {
    rte_free(data);
}

std::uint64_t HugeMemory::page_bytes() const {
    const rte_memseg_list* const list = dpdk_ ? rte_mem_virt2memseg_list(dpdk_.get()) : nullptr;
    return list != nullptr ? list->page_sz : static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace unecho::eal
