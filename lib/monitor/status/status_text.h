// SPDX-License-Identifier: BSD-3-Clause
// The status of an appliance for a terminal: problems first, then rates beside totals.
#pragma once

#include <cstddef>
#include <string>

#include "monitor/client/appliance_status.h"

namespace unecho::monitor {

struct TextStyle {
    bool colours = false;
    std::size_t width = 80;  // longer sentences are wrapped; longer rows of tables are cut
};

// snapshots.after: a result of query_appliance(). Return complete lines.
std::string status_text(const ApplianceStatus& appliance, const SnapshotPair& snapshots,
                        const TextStyle& style);

// Return one line for a monitoring system, with performance data behind "|": "UNECHO OK - ...".
std::string check_text(const ApplianceStatus& appliance);

// Return at most this many lines; the last one says how many are missing.
std::string cut_to_height(const std::string& text, std::size_t lines);

}  // namespace unecho::monitor
