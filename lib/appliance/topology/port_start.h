// SPDX-License-Identifier: BSD-3-Clause
// Starts the open ports and completes the plan. Only started cards report how they hash, and their
// settings may turn RSS into rings.
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

namespace unecho::appliance {

struct StartedPorts {
    Plan plan;
    std::optional<dataplane::RssModel> card;  // with RSS
};

// Called once, for the packet buffers of all ports.
using PoolFor = std::function<Result<rte_mempool*>(const Plan&)>;

// facts: one per port, in order. Errc::kConfig if the configuration is at fault.
Result<StartedPorts> start_ports(const config::Config& config, const Machine& machine,
                                 std::vector<eal::DeviceInfo> facts, std::vector<eal::Port>& ports,
                                 const PoolFor& pool_for);

}  // namespace unecho::appliance
