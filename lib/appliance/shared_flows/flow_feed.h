// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "filters/hash/digest.h"

namespace unecho::root {

// A flow that a leaf has not seen in its window: by its own digest, and by that of all sites.
struct FlowQuery {
    Digest flow = 0;
    Digest shared = 0;
};

// A leaf: where asks come from, and where is told what others have seen. Called by the root's
// thread alone.
class FlowFeed {
  public:
    FlowFeed() = default;
    virtual ~FlowFeed() = default;
    FlowFeed(const FlowFeed&) = delete;
    FlowFeed& operator=(const FlowFeed&) = delete;
    FlowFeed(FlowFeed&&) = delete;
    FlowFeed& operator=(FlowFeed&&) = delete;

    // False if there is none.
    virtual bool take(FlowQuery& ask) = 0;
    // False if there is no room.
    virtual bool tell(Digest flow) = 0;
};

}  // namespace unecho::root
