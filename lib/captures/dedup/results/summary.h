// SPDX-License-Identifier: BSD-3-Clause
// The result of a run, and its forms as text and JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/units.h"
#include "captures/dedup/deciders/decider.h"
#include "captures/dedup/file_options.h"
#include "captures/dedup/options.h"
#include "captures/dedup/results/reason_counts.h"
#include "dedup/engines/audit_report.h"
#include "filters/repeats/union_rule.h"

namespace unecho::dedup {

struct Summary {
    Options options;
    std::vector<std::string> inputs;
    std::optional<std::string> output;  // absent: a dry run
    bool marked = false;                // the echoes are in the output, with a comment
    Reasons reasons{};                  // captured bytes
    std::uint64_t wire_bytes = 0;       // of all packets, on the wire
    std::uint64_t dropped_wire_bytes = 0;
    std::optional<SplitFiles> split_files;
    std::uint64_t after_last_file = 0;  // kept packets behind the last file of a rotated output
    std::vector<engines::NonIpTypeCount> non_ip_types;  // the most frequent first
    packet::TunnelCounters tunnels;
    std::optional<filter::RepeatCounters> repeats;  // absent: repeats are dropped
    std::vector<engines::PortPairCount>
        answers;                            // copies of packets without an ID, by pair of inputs
    DeciderFacts decider;                   // window times are since the first packet
    std::optional<std::uint64_t> left_out;  // packets outside the selection
    Nanoseconds duration = 0;               // of the capture: sum of all forward steps
    std::uint64_t read = 0;                 // packets, with those of other shards
    std::optional<engines::AuditReport> audit;
    std::vector<std::string> warnings;  // a line each
    bool incomplete = false;            // packets of the inputs are missing or damaged
    double seconds = 0;                 // duration of the run

    // Return true if at some time echoes were sure to be found only up to an age below the window.
    [[nodiscard]] bool window_fell_short() const {
        return decider.window && decider.window->shortest < options.window_time();
    }
    [[nodiscard]] pipeline::PacketBytes received() const;
    [[nodiscard]] pipeline::PacketBytes dropped() const;
    [[nodiscard]] pipeline::PacketBytes kept() const;
};

// Return the warning that the window did not fit: what was given up, and what helps.
std::string window_warning(const Options& options, const filter::WindowState& window);

// Return several lines, without the warnings.
std::string to_text(const Summary& summary);
nlohmann::ordered_json to_json(const Summary& summary);

}  // namespace unecho::dedup
