// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/eal/ports/mempool.h"

#include <fmt/core.h>
#include <rte_errno.h>
#include <rte_mbuf.h>

#include "base/units.h"

namespace unecho::eal {

std::uint64_t mempool_bytes(std::uint32_t mbufs, std::uint16_t data_room) {
    return std::uint64_t{mbufs} *
           (data_room + sizeof(rte_mbuf) + sizeof(rte_mempool_objhdr) + RTE_CACHE_LINE_SIZE);
}

Result<Mempool> make_mempool(const MempoolOptions& options) {
    static constexpr unsigned kCache = 256;  // per lcore; several bursts
    const unsigned flags = options.packed ? RTE_MEMPOOL_F_NO_IOVA_CONTIG : 0;
    rte_pktmbuf_pool_private priv{};
    priv.mbuf_data_room_size = options.data_room;
    rte_mempool* pool = rte_mempool_create(options.name.c_str(), options.mbufs,
                                           options.data_room + sizeof(rte_mbuf), kCache,
                                           sizeof(rte_pktmbuf_pool_private), rte_pktmbuf_pool_init,
                                           &priv, rte_pktmbuf_init, nullptr, options.socket, flags);
    if (pool == nullptr) {
        const std::uint64_t bytes = mempool_bytes(options.mbufs, options.data_room);
        return fail(Errc::kNoMemory,
                    fmt::format("{} packet buffers ({}): {}; raise -m in [eal] args, reserve "
                                "hugepages, or lower [run] mbufs",
                                options.mbufs, format_size(bytes), rte_strerror(rte_errno)));
    }
    return Mempool(pool);
}

}  // namespace unecho::eal
