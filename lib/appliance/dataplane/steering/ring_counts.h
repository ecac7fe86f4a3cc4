// SPDX-License-Identifier: BSD-3-Clause
// How full a ring is, for those who are not the one that changes it. rte_ring_count() of DPDK reads
// with plain loads what other lcores write.
#pragma once

#include <algorithm>
#include <cstdint>

#include <rte_ring.h>

namespace unecho::dataplane {

// Entries since the ring was made, modulo 2^32; what was written before they moved is seen.
inline std::uint32_t ring_produced(const rte_ring& ring) noexcept {
    return __atomic_load_n(&ring.prod.tail, __ATOMIC_ACQUIRE);
}
inline std::uint32_t ring_consumed(const rte_ring& ring) noexcept {
    return __atomic_load_n(&ring.cons.tail, __ATOMIC_ACQUIRE);
}

// Free entries; more may be free by now for the producer, fewer for anybody else.
inline unsigned ring_free_count(const rte_ring& ring) noexcept {
    const std::uint32_t consumed = ring_consumed(ring);
    const std::uint32_t count = (ring_produced(ring) - consumed) & ring.mask;
    return ring.capacity - std::min(count, ring.capacity);
}

}  // namespace unecho::dataplane
