// SPDX-License-Identifier: BSD-3-Clause
// Decide whether copies meet on one worker when cards spread packets by RSS: before the start from
// what is known of the ports, afterwards from the settings that the cards report. Also what workers
// need to know of these settings.
#pragma once

#include <string>
#include <vector>

#include "appliance/dataplane/steering/rss.h"
#include "appliance/eal/ports/port.h"
#include "appliance/plan/plan.h"

namespace unecho::appliance {

// Explain why RSS cannot bring all copies of a key to one worker; empty if it can.
std::string rss_obstacle(const std::vector<PortPlan>& ports, unsigned workers);

// The same for started ports. answers: the settings of each port, in the plan's order; only ports
// that receive are compared.
std::string rss_obstacle(const Plan& plan, const std::vector<eal::RssSettings>& answers);

// Return the model of the cards' hash. All answers must be free of obstacles, so one stands for
// all.
dataplane::RssModel rss_model(const Plan& plan, const eal::RssSettings& answer);

}  // namespace unecho::appliance
