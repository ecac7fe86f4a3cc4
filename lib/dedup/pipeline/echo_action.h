// SPDX-License-Identifier: BSD-3-Clause
// The actions on an echo, one row each: drop it, forward and count it, or divert it to a port.
// Texts for configurations and plans are in the table. settle() in stages.cpp applies the action;
// appliance/dataplane/worker.cpp sends the packets on their way.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace unecho::pipeline {

enum class EchoAction : std::uint8_t { kDrop, kPass, kDivert };

struct EchoActionInfo {
    EchoAction action;
    std::string_view name;   // in a configuration; empty: it names the port instead
    std::string_view words;  // "echoes are ..."; names_port() actions add the port's name
    bool takes_out;          // echoes do not reach the port of all other packets
};

// Indexed by EchoAction; those with a name come first.
inline constexpr auto kEchoActionTable = std::to_array<EchoActionInfo>({
    {EchoAction::kDrop, "drop", "dropped", true},
    {EchoAction::kPass, "pass", "forwarded, counted (dry run)", false},
    {EchoAction::kDivert, "", "sent to ", true},
});

[[nodiscard]] constexpr const EchoActionInfo& info_of(EchoAction action) noexcept {
    return kEchoActionTable[static_cast<unsigned>(action)];
}

[[nodiscard]] constexpr bool names_port(EchoAction action) noexcept {
    return info_of(action).name.empty();
}

inline constexpr auto kEchoActionNames = [] {
    constexpr auto kNamed = static_cast<std::size_t>(
        std::count_if(kEchoActionTable.begin(), kEchoActionTable.end(),
                      [](const EchoActionInfo& info) { return !info.name.empty(); }));
    std::array<std::string_view, kNamed> names{};
    for (std::size_t i = 0; i < kNamed; ++i) {
        names[i] = kEchoActionTable[i].name;
    }
    return names;
}();

static_assert(
    [] {
        for (unsigned i = 0; i < kEchoActionTable.size(); ++i) {
            if (kEchoActionTable[i].action != static_cast<EchoAction>(i) ||
                kEchoActionTable[i].name.empty() != (i >= kEchoActionNames.size())) {
                return false;
            }
        }
        return true;
    }(),
    "in the order of the actions, those with a name first");

}  // namespace unecho::pipeline
