// SPDX-License-Identifier: BSD-3-Clause
// The queues between one filter and the shared flow store (appliance/shared_flows/shared_flows.h):
// flows that the filter has not seen in its window, and those of them that another site has seen.
// Neither end waits for the other.
#pragma once

#include "appliance/dataplane/spsc_queue.h"
#include "filters/hash/digest.h"

namespace unecho::dataplane {

struct SharedFlowsQuery {
    Digest flow = 0;    // digest in the filter
    Digest shared = 0;  // digest common to all sites
};

struct SharedFlowsLink {
    static constexpr unsigned kAsks = 4096;
    static constexpr unsigned kAnswers = 1024;
    SpscQueue<SharedFlowsQuery, kAsks> asks;  // dp: push, store's thread: pop
    SpscQueue<Digest, kAnswers> known;        // dp: pop, store's thread: push
};

}  // namespace unecho::dataplane
