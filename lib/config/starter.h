// SPDX-License-Identifier: BSD-3-Clause
// A first configuration: taps into one tool port, or a link between two interfaces, with comments
// that say what to do before the first run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace unecho::config {

struct Starter {
    // Linux interfaces, or PCI addresses of cards that are bound to a DPDK driver.
    std::vector<std::string> taps;
    std::string tool;               // where the packets of all taps go
    std::vector<std::string> link;  // instead of taps and tool: two
    bool af_xdp = false;            // of Linux interfaces: AF_XDP instead of AF_PACKET
    Nanoseconds window = 0;         // 0: default_window()
    double rate = 0;                // in packets per second; 0: default_rate()
    std::string telemetry_group;    // empty: none

    [[nodiscard]] bool is_link() const { return !link.empty(); }
    [[nodiscard]] Nanoseconds default_window() const;
    [[nodiscard]] double default_rate() const;
};

// Return an error unless the text can be an interface or a PCI address in a device string.
Status check_port_name(std::string_view text);

// Errc::kInvalidArgument: what is missing, is there twice, or is no interface.
Status check_starter(const Starter& starter);

// Return the file for a checked starter. path: the name under which it will be written.
std::string starter_toml(const Starter& starter, const std::string& path);

}  // namespace unecho::config
