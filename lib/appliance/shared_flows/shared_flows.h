// SPDX-License-Identifier: BSD-3-Clause
// What sites share of the flows they have seen: a Redis Cluster, asked by a thread of its own. The
// leaves of the tree (paper "distributed", section 2) are the filters of appliances; what one of
// them has not seen in its window it asks here, and goes on: no packet waits.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "appliance/shared_flows/counters.h"
#include "appliance/shared_flows/endpoint.h"
#include "appliance/shared_flows/flow_feed.h"
#include "appliance/shared_flows/layout.h"
#include "base/os/log.h"
#include "base/result.h"

namespace unecho::root {

struct ClusterClientSpec {
    std::vector<Endpoint> nodes;  // any of the cluster; the others are found
    std::optional<std::string> user;
    std::optional<std::string> password;
    Nanoseconds timeout = 100 * kMillisecond;  // of an answer
    bool tells = true;                         // else what is known is counted alone
};

class SharedFlows {
  public:
    // Errc::kUnsupported where unecho was built without hiredis, which speaks Redis' protocol.
    static Status available();

    // feeds outlive it. patience: to wait for all masters before; absent: they are found while
    // packets flow. Errc::kConfig if one refuses, Errc::kIo if one does not answer.
    static Result<std::unique_ptr<SharedFlows>> start(Layout layout, ClusterClientSpec spec,
                                                      std::vector<FlowFeed*> feeds,
                                                      std::optional<Nanoseconds> patience);
    virtual ~SharedFlows() = default;
    SharedFlows(const SharedFlows&) = delete;
    SharedFlows& operator=(const SharedFlows&) = delete;
    SharedFlows(SharedFlows&&) = delete;
    SharedFlows& operator=(SharedFlows&&) = delete;

    // Both from any thread.
    [[nodiscard]] virtual Counters counters() const = 0;
    // What is to be told, since it was asked last.
    [[nodiscard]] virtual std::vector<LogLine> take_lines() = 0;

  protected:
    SharedFlows() = default;
};

}  // namespace unecho::root
