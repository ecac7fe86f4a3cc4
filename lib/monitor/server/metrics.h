// SPDX-License-Identifier: BSD-3-Clause
// The response to /metrics. Counters are not listed here: an appliance reports which it has, their
// meaning and unit, and which only grow (/unecho/help, /unecho/kinds). The metric's name follows:
//
//   unecho_[BLOCK_]NAME_[UNIT_]total    filters, "shifts": unecho_filter_shifts_total
//
// Traffic cannot choose a label's value.
#pragma once

#include <string>

#include "monitor/client/appliance_status.h"

namespace unecho::monitor {

std::string metrics_text(const ApplianceStatuses& appliances);

}  // namespace unecho::monitor
