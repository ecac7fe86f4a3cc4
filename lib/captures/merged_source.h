// SPDX-License-Identifier: BSD-3-Clause
// Several sources merged into one by time, in the order of open_captures() (open_captures.h).
// Nothing is copied: a batch holds the memory of its inputs' batches. If one input fails, the
// others are read no further. Packets already read are delivered, then the error.
//
// An input that can be reopened is open only from the time of its first packet to its end. Before
// the first batch, each is read to find that time and its interfaces, which are numbered then.
// Interfaces described after the packets read there get their numbers when they are met.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/merge.h"
#include "captures/memory_budget.h"
#include "captures/source.h"

namespace unecho::capture {

struct MergeInput {
    std::string name;                // for messages
    std::unique_ptr<Source> source;  // null: closed
    // Open the input from its beginning. Empty: it cannot be reopened, so it stays open to its end.
    std::function<Result<std::unique_ptr<Source>>()> open;
    // Facts of an input that is closed.
    InterfaceView interfaces;
    FileFormat format = FileFormat::kPcap;
    std::uint64_t size = 0;
};

// Warnings and interfaces name an input by its index in the list. jump: see MergeClock
// (base/merge.h). budget: also counts the interfaces; null: unlimited.
std::unique_ptr<Source> merge_sources(std::vector<MergeInput> inputs, Nanoseconds jump,
                                      std::shared_ptr<MemoryBudget> budget);
// Merge sources that are all open.
std::unique_ptr<Source> merge_sources(std::vector<std::unique_ptr<Source>> sources,
                                      Nanoseconds jump = kNoEpochs);

}  // namespace unecho::capture
