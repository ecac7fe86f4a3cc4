// SPDX-License-Identifier: BSD-3-Clause
// Checks that an appliance keeps its promises, for `unecho status` and its --check mode for
// monitoring systems. kBroken contradicts a promise; kWarning costs packets or certainty.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "monitor/client/appliance_status.h"

namespace unecho::monitor {

enum class Severity : std::uint8_t { kFine, kWarning, kBroken };

struct Finding {
    Severity severity;
    std::string text;  // one line
};

// Two snapshots of one process, to distinguish present losses from past ones.
struct SnapshotPair {
    Json before;  // null: there is none
    Json after;
    Nanoseconds between = 0;
};

// Return findings, worst first; empty if all is well. A loss is reported if it came between the two
// snapshots, or exceeds kMaxLossShare of all packets since the start.
inline constexpr double kMaxLossShare = 1e-4;
inline constexpr double kMaxDoubtShare = 0.01;  // of the echoes
std::vector<Finding> check_health(const SnapshotPair& snapshots);

[[nodiscard]] Severity worst_of(const std::vector<Finding>& findings);

}  // namespace unecho::monitor
