// SPDX-License-Identifier: BSD-3-Clause
// A source through all steps of a collector, on one thread or on several (stages.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "analyze/collector.h"
#include "analyze/what_if.h"
#include "base/result.h"
#include "capture/source.h"

namespace unecho::analyze {

struct Counting {
    unsigned threads = 1;
    PacketRemover* remover = nullptr;                      // of what is asked about
    std::function<void(const capture::Source&)> progress;  // after each batch; may be empty
};

// What keeps a capture from being counted to its end.
struct CountingEnd {
    std::optional<Error> source;   // what came before was counted
    std::optional<Error> remover;  // there is no answer
};

CountingEnd count_all(capture::Source& source, Collector& collector, const Counting& how);

}  // namespace unecho::analyze
