// SPDX-License-Identifier: BSD-3-Clause
// What `unecho pcap` has to say when it is done.
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

namespace unecho::offline {

struct Summary {
    Options options;
    std::vector<std::string> inputs;
    std::optional<std::string> output;  // absent: a dry run
    bool marked = false;                // the echoes are in the output, with a comment
    Reasons reasons{};                  // bytes are those captured
    std::uint64_t wire_bytes = 0;       // of all packets, as they were on the wire
    std::uint64_t dropped_wire_bytes = 0;
    std::optional<SplitFiles> split_files;
    std::uint64_t after_last_file =
        0;  // of those kept: they came behind the last file of a rotated output
    std::vector<engines::NonIpType> non_ip_types;  // the most frequent first
    packet::TunnelCounters tunnels;
    std::optional<filter::RepeatCounters> repeats;  // absent: they are dropped
    std::vector<engines::PortPairCount>
        answers;                            // copies of packets without an ID, by pair of inputs
    DeciderFacts decider;                   // times of its window since the first packet
    std::optional<std::uint64_t> left_out;  // packets outside of a selection
    Nanoseconds duration = 0;               // of the capture: all steps forward in time
    std::uint64_t read = 0;                 // packets, of a shard those of the others too
    std::optional<engines::AuditReport> audit;
    std::vector<std::string> warnings;  // a line each
    bool incomplete = false;            // packets of the inputs are missing or damaged
    double seconds = 0;                 // that it took

    // At some time echoes were sure to be found only up to an age below the window.
    [[nodiscard]] bool window_fell_short() const {
        return decider.window && decider.window->shortest < options.window_time();
    }
    [[nodiscard]] pipeline::PacketBytes received() const;
    [[nodiscard]] pipeline::PacketBytes dropped() const;
    [[nodiscard]] pipeline::PacketBytes kept() const;
};

// "taps.pcap: packet 17: time steps back (3 times)"
std::string warning_text(const capture::Warning& warning, const std::vector<std::string>& inputs);

// What was given up where the window did not fit, and what helps.
std::string window_warning(const Options& options, const filter::WindowState& window);

// Several lines, without the warnings.
std::string to_text(const Summary& summary);
nlohmann::ordered_json to_json(const Summary& summary);

}  // namespace unecho::offline
