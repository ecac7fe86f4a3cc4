// SPDX-License-Identifier: BSD-3-Clause
// Parameters that all parts of a worker share, and the result of a poll.
#pragma once

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include "appliance/dataplane/tsc_clock.h"
#include "base/units.h"
#include "filters/hash/secret.h"

namespace unecho::dataplane {

struct WorkerParameters {
    unsigned burst = 32;  // packets requested at a time, at most kMaxBurst
    const hash::Secret* secret = nullptr;
    TscClock clock;
    bool capture_clock = false;  // time follows the packets' timestamps
    int timestamp_offset = -1;   // of the rx timestamp in an mbuf; capture clock only
};

// Packets taken from queues and rings in one poll.
struct PollResult {
    unsigned packets = 0;
    bool more = false;  // one of them gave a whole burst: more may wait

    void add(const PollResult& other) noexcept {
        packets += other.packets;
        more |= other.more;
    }
};

inline rte_mbuf_timestamp_t& timestamp_of(rte_mbuf* mbuf, int offset) noexcept {
    return *RTE_MBUF_DYNFIELD(mbuf, offset, rte_mbuf_timestamp_t*);
}

}  // namespace unecho::dataplane
