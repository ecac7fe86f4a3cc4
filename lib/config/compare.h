// SPDX-License-Identifier: BSD-3-Clause
// Compares two configurations key by key, and says what a reload does with each difference
// (docs/reload.md). It knows the two files only; appliance/reload/reload_plan.h plans the reload.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema.h"

namespace unecho::config {

// The effect of another value at a reload.
enum class ReloadEffect : std::uint8_t {
    kLive,       // applied while packets flow; nothing is forgotten
    kWarmed,     // a new filter, with the old one as predecessor for its window and slack
    kImmediate,  // a new filter at once: the old one's memory means nothing to it
    kRestart,    // the reload is refused
};
inline constexpr std::array<std::string_view, 4> kReloadNames{"while packets flow", "warmed",
                                                              "at once", "needs a restart"};

struct KeyDifference {
    int line = 0;        // in the new file; 0: not there
    std::string key;     // "run.mbufs", "filter \"echo\" window", "route \"a>b\""
    std::string before;  // as written, or the default; empty: not there
    std::string after;
    ReloadEffect reload = ReloadEffect::kLive;
};

// Compare two configurations. Ports are matched by their order, filters and routes by their names.
std::vector<KeyDifference> compare(const Config& running, const Config& wanted);

}  // namespace unecho::config
