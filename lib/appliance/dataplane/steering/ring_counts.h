// SPDX-License-Identifier: BSD-3-Clause
// The fill of a ring, as read by a thread that does not change it. DPDK's rte_ring_count() reads
// with plain loads what other lcores write.
#pragma once

#include <algorithm>
#include <cstdint>

#include <rte_ring.h>

namespace unecho::dataplane {

// Return the entries since the ring was made, modulo 2^32 (acquire: what was written before is
// visible).
inline std::uint32_t ring_produced(const rte_ring& ring) noexcept {
    return __atomic_load_n(&ring.prod.tail, __ATOMIC_ACQUIRE);
}
inline std::uint32_t ring_consumed(const rte_ring& ring) noexcept {
    return __atomic_load_n(&ring.cons.tail, __ATOMIC_ACQUIRE);
}

// Return the number of free entries. The producer may find more by now, any other thread fewer.
inline unsigned ring_free_count(const rte_ring& ring) noexcept {
    const std::uint32_t consumed = ring_consumed(ring);
    const std::uint32_t count = (ring_produced(ring) - consumed) & ring.mask;
    return ring.capacity - std::min(count, ring.capacity);
}

}  // namespace unecho::dataplane
