// SPDX-License-Identifier: BSD-3-Clause
// In what one configuration differs from another, key by key, and what a reload does with each
// (docs/reload.md). By what the two files say: next, appliance/reload/reload_plan.h asks what
// becomes of it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema.h"

namespace unecho::config {

// What a reload does with another value.
enum class ReloadEffect : std::uint8_t {
    kLive,       // takes it over while packets flow; nothing is forgotten
    kWarmed,     // a filter that asks the one before until it has seen its window and slack
    kImmediate,  // another filter at once: what the one before knew says nothing to it
    kRestart,    // refuses it
};
inline constexpr std::array<std::string_view, 4> kReloadNames{"while packets flow", "warmed",
                                                              "at once", "needs a restart"};

struct KeyDifference {
    int line = 0;        // in the file that is to be; 0: it is not there
    std::string key;     // "run.mbufs", "filter \"echo\" window", "route \"a>b\""
    std::string before;  // as it is written, or the default; empty: it was not there
    std::string after;
    ReloadEffect reload = ReloadEffect::kLive;
};

// Ports are told apart by their order, filters and routes by their names.
std::vector<KeyDifference> compare(const Config& running, const Config& wanted);

}  // namespace unecho::config
