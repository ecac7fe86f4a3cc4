// SPDX-License-Identifier: BSD-3-Clause
// The packet buffers. Without hugepages a pool is packed (not IOVA-contiguous): otherwise each mbuf
// takes a page of its own and all headers share cache sets, which costs 3-5 times on mbuf work.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <rte_mempool.h>

#include "base/result.h"

namespace unecho::eal {

struct MempoolDeleter {
    void operator()(rte_mempool* pool) const noexcept { rte_mempool_free(pool); }
};
using Mempool = std::unique_ptr<rte_mempool, MempoolDeleter>;

struct MempoolOptions {
    std::string name;
    std::uint32_t mbufs = 0;
    std::uint16_t data_room = 0;  // bytes of one buffer, with headroom
    int socket = -1;              // NUMA socket; -1: any
    bool packed = false;          // no hugepages
};

Result<Mempool> make_mempool(const MempoolOptions& options);

}  // namespace unecho::eal
