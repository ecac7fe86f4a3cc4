// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "filters/hash/digest.h"

namespace unecho::shared_flows {

// A flow that a filter has not seen in its window: its digest there, and that common to all sites.
struct FlowQuery {
    Digest flow = 0;
    Digest shared = 0;
};

// A filter of the appliance, as the store's thread sees it: a source of queries, and a sink for
// flows that other sites have seen. Only that thread may call it.
class FlowFeed {
  public:
    FlowFeed() = default;
    virtual ~FlowFeed() = default;
    FlowFeed(const FlowFeed&) = delete;
    FlowFeed& operator=(const FlowFeed&) = delete;
    FlowFeed(FlowFeed&&) = delete;
    FlowFeed& operator=(FlowFeed&&) = delete;

    // Return false if there is no query.
    virtual bool take(FlowQuery& ask) = 0;
    // Return false if there is no room.
    virtual bool tell(Digest flow) = 0;
};

}  // namespace unecho::shared_flows
