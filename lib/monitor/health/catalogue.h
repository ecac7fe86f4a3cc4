// SPDX-License-Identifier: BSD-3-Clause
// The names of the health rules. They are in metrics, alerts and scripts, so they never change.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "monitor/health/health.h"

namespace unecho::monitor {

struct Rule {
    std::string_view name;
    Severity severity;
    std::string_view headline;
};

// The worst first. Of equal severity, a rule comes before those that it may be the cause of.
inline constexpr std::array kRules{
    Rule{"down", Severity::kBroken, "The appliance does not answer."},
    Rule{"absent", Severity::kBroken, "The appliance has not come up."},
    Rule{"worker-silent", Severity::kBroken, "A worker stands still."},
    Rule{"packets-unaccounted", Severity::kBroken, "Packets are not accounted for."},
    Rule{"false-drops-above-bound", Severity::kBroken, "The bound is broken."},
    Rule{"miss", Severity::kBroken, "Copies get through."},
    Rule{"link-down", Severity::kWarning, "A link is down."},
    Rule{"no-traffic", Severity::kWarning, "No traffic."},
    Rule{"input-silent", Severity::kWarning, "An input is silent."},
    Rule{"worker-stalled", Severity::kWarning, "A worker is held up."},
    Rule{"generations-late", Severity::kWarning, "Generations turn late."},
    Rule{"overload", Severity::kWarning, "A worker is at its limit."},
    Rule{"rx-missed", Severity::kWarning, "Packets are lost on receiving."},
    Rule{"tx-lost", Severity::kWarning, "Packets are lost on sending."},
    Rule{"path-loss", Severity::kWarning, "Packets are lost on a path."},
    Rule{"path-delay", Severity::kWarning, "Packets are late on a path."},
    Rule{"window-short", Severity::kWarning, "The window is too short."},
    Rule{"doubts", Severity::kWarning, "Copies pass as doubts."},
    Rule{"miss-explained", Severity::kWarning, "Copies pass."},
    Rule{"drop-share-implausible", Severity::kWarning, "Nearly everything is a copy."},
    Rule{"echoes-stopped", Severity::kWarning, "The copies have stopped."},
    Rule{"echo-share-changed", Severity::kWarning, "The share of copies has changed."},
    Rule{"clock-stepped", Severity::kWarning, "A clock was set."},
    Rule{"root-unreachable", Severity::kWarning, "The shared store does not answer."},
    Rule{"root-unassigned", Severity::kWarning, "The shared store has gaps."},
    Rule{"root-full", Severity::kWarning, "The shared store is full."},
    Rule{"history-not-kept", Severity::kWarning, "The history is not kept."},  // by the server
};

// This file explains each rule; the repository and the package's documents have it.
inline constexpr std::string_view kRunbook = "docs/runbook.md";

// Return the place of a name in kRules; kRules.size() if it is none.
[[nodiscard]] constexpr std::size_t place_of(std::string_view name) {
    std::size_t i = 0;
    while (i < kRules.size() && kRules[i].name != name) {
        ++i;
    }
    return i;
}

}  // namespace unecho::monitor
