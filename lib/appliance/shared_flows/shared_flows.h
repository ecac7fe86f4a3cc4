// SPDX-License-Identifier: BSD-3-Clause
// shared_flows: the shared flow store. Sites share in a Redis Cluster which flows they have seen
// ([filter.root] in the configuration). A flow known at one site is then an echo at another. The
// store is the root of the tree of paper "distributed", section 2; the filters of appliances are
// its leaves.
//
// A worker queues each flow that is new to it and forwards its packet without waiting. One thread
// queries the cluster in batches and returns the flows that other sites have seen.
//
// Cold. May not: know DPDK, packets or filters. Next: flow_feed.h (what a worker hands over),
// layout.h (where a flow is in the cluster), cluster_client.h (the thread's work), redis_function.h
// (what runs in Redis), docs/decisions/0016-root.md.
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

namespace unecho::shared_flows {

struct ClusterClientSpec {
    std::vector<Endpoint> nodes;  // any of the cluster; the others are discovered
    std::optional<std::string> user;
    std::optional<std::string> password;
    Nanoseconds timeout = 100 * kMillisecond;  // for an answer
    bool tells = true;                         // else known flows are only counted
};

class SharedFlows {
  public:
    // Return Errc::kUnsupported if unecho was built without hiredis, which speaks Redis' protocol.
    static Status available();

    // Start the thread. feeds must outlive it. patience: time to wait for all masters; absent: they
    // are found while packets flow. Errc::kConfig: one refuses. Errc::kIo: one does not answer.
    static Result<std::unique_ptr<SharedFlows>> start(Layout layout, ClusterClientSpec spec,
                                                      std::vector<FlowFeed*> feeds,
                                                      std::optional<Nanoseconds> patience);
    virtual ~SharedFlows() = default;
    SharedFlows(const SharedFlows&) = delete;
    SharedFlows& operator=(const SharedFlows&) = delete;
    SharedFlows(SharedFlows&&) = delete;
    SharedFlows& operator=(SharedFlows&&) = delete;

    // Any thread may call both.
    [[nodiscard]] virtual Counters counters() const = 0;
    // Return the lines to log since the last call.
    [[nodiscard]] virtual std::vector<LogLine> take_lines() = 0;

  protected:
    SharedFlows() = default;
};

}  // namespace unecho::shared_flows
