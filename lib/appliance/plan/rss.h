// SPDX-License-Identifier: BSD-3-Clause
// Whether copies meet when cards spread packets over workers: by what is known of the ports before
// they start, by what the cards answer then; and what workers must know of it.
#pragma once

#include <string>
#include <vector>

#include "appliance/dataplane/steering/rss.h"
#include "appliance/eal/ports/port.h"
#include "appliance/plan/plan.h"

namespace unecho::control {

// Why RSS cannot bring all copies of a key to one worker, in words for people; empty if it can.
std::string rss_obstacle(const std::vector<PortPlan>& ports, unsigned workers);

// The same of started ports. answers: of each port, in the plan's order; only those of ports that
// receive are looked at.
std::string rss_obstacle(const Plan& plan, const std::vector<eal::RssSettings>& answers);

// Of answers without an obstacle, one for all.
dataplane::RssModel rss_model(const Plan& plan, const eal::RssSettings& answer);

}  // namespace unecho::control
