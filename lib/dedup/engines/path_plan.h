// SPDX-License-Identifier: BSD-3-Clause
// The plan of what the audit of a filter measures of the paths between its points of observation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "dedup/pipeline/paths/path_table.h"
#include "dedup/pipeline/paths/totals.h"

namespace unecho::engines {

// On one worker.
struct PathPlan {
    pipeline::PathSpec spec;          // its secret is drawn at the start
    std::vector<std::string> points;  // names, in the order of the path if that is stated
    std::optional<double> max_loss;
    std::optional<Nanoseconds> max_delay;

    // Return the bytes of the table and its counters.
    [[nodiscard]] std::uint64_t instance_bytes() const {
        return pipeline::PathTable::bytes(spec) + pipeline::PathTotals::bytes(points.size());
    }
};

}  // namespace unecho::engines
