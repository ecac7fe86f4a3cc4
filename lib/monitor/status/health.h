// SPDX-License-Identifier: BSD-3-Clause
// Whether an appliance does what it promises: for `unecho status` and the plugin that it is with
// --check. What is broken contradicts a promise; what is a warning costs packets or certainty.
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

// Two looks at one process, so that what happens now is told from what once happened.
struct SnapshotPair {
    Json before;  // null: there is none
    Json after;
    Nanoseconds between = 0;
};

// Worst first; empty: all is well. Losses count if there were any between the two looks, or above
// kMaxLossShare of all packets since the start.
inline constexpr double kMaxLossShare = 1e-4;
inline constexpr double kMaxDoubtShare = 0.01;  // of the echoes
std::vector<Finding> check_health(const SnapshotPair& snapshots);

[[nodiscard]] Severity worst_of(const std::vector<Finding>& findings);

}  // namespace unecho::monitor
