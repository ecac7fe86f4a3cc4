// SPDX-License-Identifier: BSD-3-Clause
// Module analyze: `unecho analyze`. Read captures once and report which packets are duplicates, how
// old they are, why they exist, and which configuration removes them. The steps, in order:
//
//   collect/    read packets into bounded tables and count them, for every key mode and window at
//               once (collector.h); the counts merge across shards and captures (findings.h)
//   tally/      the counters: ages, windows, time, tunnels, most frequent keys
//   classify/   decide which echoes are copies, and which are repeats (copy_classifier.h)
//   recommend/  choose the configuration (recommend.h), answer `--key ...` questions (what_if.h)
//   report/     the result (report.h), as text, JSON, TOML and HTML
//
// Tables have a fixed share of --memory; the report says from which age on echoes may be missed.
// The report does not depend on the number of threads. The module needs no DPDK. It may not include
// filters, dedup/pipeline, captures/dedup, appliance or monitor. Next: report/report.h, then
// collect/collector.h.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/result.h"
#include "base/shard.h"
#include "captures/analyze/recommend/what_if.h"
#include "captures/analyze/report/report.h"
#include "captures/source.h"
#include "filters/hash/secret.h"

namespace unecho::analyze {

inline constexpr std::uint64_t kMinMemory = std::uint64_t{4} << 20;

struct AnalysisJob {
    std::span<const std::string> paths;  // names of the inputs, for the report
    // For tables, in bytes: at least kMinMemory, or three quarters of it with a remover.
    std::uint64_t memory = 0;
    hash::Secret secret;
    std::function<void(const capture::Source&)> progress;  // called after each batch; may be empty
    std::span<const std::uint16_t> vxlan_ports;            // besides those that are always opened
    PacketRemover* remover = nullptr;  // of the configuration in question; has memory of its own
    unsigned threads = 1;              // for reading and counting; the report does not depend on it
    Shard shard{};  // the only packets to count; all shards need one secret and no remover
};

// Read the source to its end. If reading fails after some packets, report those, with a warning.
// Errors: kIo or kUnsupported if nothing could be read, kNoMemory.
Result<Report> analyze(capture::Source& source, const AnalysisJob& job);

}  // namespace unecho::analyze
