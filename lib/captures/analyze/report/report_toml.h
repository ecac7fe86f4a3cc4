// SPDX-License-Identifier: BSD-3-Clause
// The recommendation as a configuration that `unecho check` accepts, with the reasons as comments,
// and as options of `unecho pcap`.
#pragma once

#include <string>

#include "captures/analyze/report/report.h"

namespace unecho::analyze {

// Replays the inputs where net_pcap can read them (files, not compressed, Ethernet), with the
// network variant as a comment; else the network variant. After recommend().
std::string to_toml(const Report& report);

// The same as options of `unecho pcap`. After recommend().
std::string pcap_options(const Report& report);

}  // namespace unecho::analyze
