// SPDX-License-Identifier: BSD-3-Clause
// A single-producer single-consumer ring of mbufs between two workers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <rte_errno.h>
#include <rte_ring.h>

#include "base/result.h"

namespace unecho::eal {

struct RingDeleter {
    void operator()(rte_ring* ring) const noexcept { rte_ring_free(ring); }
};
using Ring = std::unique_ptr<rte_ring, RingDeleter>;

// packets: a power of two.
inline Result<Ring> make_ring(const std::string& name, std::uint32_t packets) {
    rte_ring* ring = rte_ring_create(name.c_str(), packets, SOCKET_ID_ANY,
                                     RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
    if (ring == nullptr) {
        return fail(Errc::kNoMemory, "a ring of " + std::to_string(packets) +
                                         " packets: " + rte_strerror(rte_errno) +
                                         "; raise -m in [eal] args or lower [workers] ring_size");
    }
    return Ring(ring);
}

}  // namespace unecho::eal
