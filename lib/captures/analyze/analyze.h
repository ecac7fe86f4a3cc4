// SPDX-License-Identifier: BSD-3-Clause
// unecho analyze: from captures to the report, recommendation and all.
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
    std::span<const std::string> paths;  // of the inputs, for the report
    // For what is remembered: kMinMemory or more; three quarters of it with a remover.
    std::uint64_t memory = 0;
    hash::Secret secret;
    std::function<void(const capture::Source&)> progress;  // after each batch; may be empty
    std::span<const std::uint16_t> vxlan_ports;            // beside those of the table
    PacketRemover* remover = nullptr;  // of a configuration that is asked about; has its own memory
    unsigned threads = 1;              // that read and count; the report is the same
    Shard shard{};  // whose packets are counted; with the others' secret, and without a remover
};

// Reads the source to its end. Where reading fails on the way the report is of what came before,
// with a warning; Errc::kIo or kUnsupported if nothing came. Errc::kNoMemory.
Result<Report> analyze(capture::Source& source, const AnalysisJob& job);

}  // namespace unecho::analyze
