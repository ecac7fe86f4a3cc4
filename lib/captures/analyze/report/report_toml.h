// SPDX-License-Identifier: BSD-3-Clause
// The recommendation as a configuration that `unecho check` accepts, with reasons as comments, and
// as options of `unecho pcap`.
#pragma once

#include <string>

#include "captures/analyze/report/report.h"

namespace unecho::analyze {

// Return a configuration that replays the inputs if net_pcap can (Ethernet, not compressed), with
// the network variant as a comment; else the network variant. Call this after recommend().
std::string to_toml(const Report& report);

// Return the recommendation as options of `unecho pcap`. Call this after recommend().
std::string pcap_options(const Report& report);

}  // namespace unecho::analyze
