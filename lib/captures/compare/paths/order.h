// SPDX-License-Identifier: BSD-3-Clause
// The order in which packets arrived, as RFC 4737 defines reordering: a packet is reordered if one
// that was sent later arrived before it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"

namespace unecho::compare {

struct Arrival {
    Nanoseconds time = 0;
    std::uint32_t tie = 0;     // decides between equal times
    std::uint32_t number = 0;  // in the order of sending
    std::uint32_t flow = 0;    // below the number of flows

    bool operator<(const Arrival& other) const {
        return time != other.time ? time < other.time : tie < other.tie;
    }
};

struct Reordering {
    std::uint64_t of_all = 0;    // behind any later packet
    std::uint64_t in_flow = 0;   // behind a later packet of their flow
    std::uint64_t farthest = 0;  // packets of its flow that overtook one, at most
};

// arrivals: in the order of sending.
Reordering reordering_of(std::vector<Arrival> arrivals, std::size_t flows);

}  // namespace unecho::compare
