// SPDX-License-Identifier: BSD-3-Clause
// The recommendation as a configuration that `unecho check` accepts, with reasons as comments, and
// as options of `unecho pcap`.
#pragma once

#include <string>
#include <vector>

#include "captures/analyze/report/report.h"

namespace unecho::analyze {

// A value of the recommendation, as each output writes it.
struct Setting {
    std::string key;     // in configurations
    std::string text;    // the value for readers; empty: not listed for them
    std::string reason;  // empty: it needs none
    std::string toml;    // the value in TOML; empty: not written
    std::string option;  // "--key packet"; empty: not given
};

// Return all of them, in the order of every output.
std::vector<Setting> settings(const Report& report);

// Return a configuration that replays the inputs if net_pcap can (Ethernet, not compressed), with
// the network variant as a comment; else the network variant. Call this after recommend().
std::string to_toml(const Report& report);

// Return the recommendation as options of `unecho pcap`. Call this after recommend().
std::string pcap_options(const Report& report);

}  // namespace unecho::analyze
