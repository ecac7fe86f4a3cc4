// SPDX-License-Identifier: BSD-3-Clause
// The pool of packet buffers. Without hugepages it is packed (not IOVA-contiguous): otherwise each
// mbuf has a page of its own and all headers share cache sets. Mbuf work then takes 3 to 5 times as
// long.
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
    bool packed = false;          // without hugepages
};

// Return how much memory so many buffers of this size take.
std::uint64_t mempool_bytes(std::uint32_t mbufs, std::uint16_t data_room);

Result<Mempool> make_mempool(const MempoolOptions& options);

}  // namespace unecho::eal
