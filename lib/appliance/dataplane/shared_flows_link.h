// SPDX-License-Identifier: BSD-3-Clause
// Between one lane and the root that sites share (appliance/shared_flows/shared_flows.h): flows
// that the lane has not seen in its window, and those of them that another site has. Neither waits
// for the other.
#pragma once

#include "appliance/dataplane/spsc_queue.h"
#include "filters/hash/digest.h"

namespace unecho::dataplane {

struct SharedFlowsQuery {
    Digest flow = 0;    // as the lane has it
    Digest shared = 0;  // as all sites have it
};

struct SharedFlowsLink {
    static constexpr unsigned kAsks = 4096;
    static constexpr unsigned kAnswers = 1024;
    SpscQueue<SharedFlowsQuery, kAsks> asks;  // dp: push, root: pop
    SpscQueue<Digest, kAnswers> known;        // dp: pop, root: push
};

}  // namespace unecho::dataplane
