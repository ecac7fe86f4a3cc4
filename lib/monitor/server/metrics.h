// SPDX-License-Identifier: BSD-3-Clause
// What /metrics answers. Counters are not listed here: an appliance tells which it has, what each
// counts, in what unit, and whether it only grows (/unecho/help, /unecho/kinds), and their names
// follow from that:
//
//   unecho_[BLOCK_]NAME_[UNIT_]total    filters, "shifts": unecho_filter_shifts_total
//
// No label has a value that traffic chooses.
#pragma once

#include <string>

#include "monitor/client/appliance_status.h"

namespace unecho::monitor {

std::string metrics_text(const ApplianceStatuses& appliances);

}  // namespace unecho::monitor
