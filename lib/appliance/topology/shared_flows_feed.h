// SPDX-License-Identifier: BSD-3-Clause
// Connects one filter instance to the thread of its shared flow store: queries in, known flows
// back.
#pragma once

#include "appliance/dataplane/shared_flows_link.h"
#include "appliance/shared_flows/flow_feed.h"
#include "filters/hash/digest.h"

namespace unecho::appliance {

class SharedFlowsFeed final : public shared_flows::FlowFeed {
  public:
    explicit SharedFlowsFeed(dataplane::SharedFlowsLink& link) noexcept : link_(link) {}
    bool take(shared_flows::FlowQuery& ask) override {
        dataplane::SharedFlowsQuery one;
        if (!link_.asks.pop(one)) {
            return false;
        }
        ask = {one.flow, one.shared};
        return true;
    }
    bool tell(Digest flow) override { return link_.known.push(flow); }

  private:
    dataplane::SharedFlowsLink& link_;
};

}  // namespace unecho::appliance
