// SPDX-License-Identifier: BSD-3-Clause
// Run a source through all steps of a collector, on one thread or several (stage_runner.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/result.h"
#include "captures/analyze/collect/collector.h"
#include "captures/analyze/recommend/what_if.h"
#include "captures/source.h"

namespace unecho::analyze {

struct CountOptions {
    unsigned threads = 1;
    PacketRemover* remover = nullptr;  // of the configuration in question
    std::function<void(const capture::Source&)> progress;
};

// Errors that end counting early.
struct CountErrors {
    std::optional<Error> source;   // all packets before were counted
    std::optional<Error> remover;  // the question has no answer
};

CountErrors run_collector(capture::Source& source, Collector& collector, const CountOptions& how);

}  // namespace unecho::analyze
