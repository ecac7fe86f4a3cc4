// SPDX-License-Identifier: BSD-3-Clause
// A source through all steps of a collector, on one thread or on several (stage_runner.h).
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
    PacketRemover* remover = nullptr;                      // of what is asked about
    std::function<void(const capture::Source&)> progress;  // after each batch; may be empty
};

// What keeps a capture from being counted to its end.
struct CountErrors {
    std::optional<Error> source;   // what came before was counted
    std::optional<Error> remover;  // there is no answer
};

CountErrors run_collector(capture::Source& source, Collector& collector, const CountOptions& how);

}  // namespace unecho::analyze
