// SPDX-License-Identifier: BSD-3-Clause
// Replaces shared_flows.cpp in a build without hiredis.
#include "appliance/shared_flows/shared_flows.h"

namespace unecho::shared_flows {

Status SharedFlows::available() {
    return fail(Errc::kUnsupported,
                "this unecho was built without hiredis, which speaks Redis' protocol");
}

Result<std::unique_ptr<SharedFlows>> SharedFlows::start(Layout /*layout*/,
                                                        ClusterClientSpec /*spec*/,
                                                        std::vector<FlowFeed*> /*feeds*/,
                                                        std::optional<Nanoseconds> /*patience*/) {
    return tl::unexpected(available().error());
}

}  // namespace unecho::shared_flows
