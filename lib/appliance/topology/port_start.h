// SPDX-License-Identifier: BSD-3-Clause
// From open ports to started ones, and to the plan that holds for them: what cards answer when they
// are asked how they hash is known only then, and may turn RSS into rings.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "appliance/dataplane/steering/rss.h"
#include "appliance/eal/ports/port.h"
#include "appliance/plan/machine.h"
#include "appliance/plan/plan.h"
#include "base/result.h"
#include "config/schema.h"

namespace unecho::control {

struct StartedPorts {
    Plan plan;
    std::optional<dataplane::RssModel> card;  // with RSS
};

// Asked once, for the packets of all ports.
using PoolFor = std::function<Result<rte_mempool*>(const Plan&)>;

// facts: of each port, in order. Errc::kConfig where the configuration is to blame.
Result<StartedPorts> start_ports(const config::Config& config, const Machine& machine,
                                 std::vector<eal::DeviceInfo> facts, std::vector<eal::Port>& ports,
                                 const PoolFor& pool_for);

}  // namespace unecho::control
