// SPDX-License-Identifier: BSD-3-Clause
// An appliance on a terminal: rates between two looks beside totals, what is wrong first.
#pragma once

#include <cstddef>
#include <string>

#include "monitor/client/appliance_status.h"
#include "monitor/status/health.h"

namespace unecho::monitor {

struct TextStyle {
    bool colours = false;
    std::size_t width = 80;  // what does not fit is cut, "..." behind it
};

// looks.after: as of query_appliance(). Lines with their ends.
std::string status_text(const ApplianceStatus& appliance, const SnapshotPair& snapshots,
                        const TextStyle& style);

// One line for a monitoring system, and behind "|" what it may draw: "UNECHO OK - ...".
std::string check_text(const std::string& name, const SnapshotPair& snapshots);

// At most so many lines, the last one saying how many more there are.
std::string cut_to_height(const std::string& text, std::size_t lines);

}  // namespace unecho::monitor
