// SPDX-License-Identifier: BSD-3-Clause
// Several sources as one, by time; the order is that of open_captures() (open_captures.h). Its
// batches hold the memory of several inputs' batches, nothing is copied. Where one input fails the
// others are read no further: what they had read is given, then the error.
//
// An input that can be opened again is closed but from its first packet's time to its end: before
// the first batch each is looked at for that time, and for its interfaces, which are numbered then.
// Interfaces that are described behind the packets looked at get their numbers when they are met.
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
    // Opens it from its beginning; empty: cannot be opened again, and is never closed before its
    // end.
    std::function<Result<std::unique_ptr<Source>>()> open;
    // What is known of a closed one.
    InterfaceView interfaces;
    FileFormat format = FileFormat::kPcap;
    std::uint64_t size = 0;
};

// Warnings and interfaces name the input by its place in the list. jump: of MergeClock. allowance:
// also for the interfaces; null: any number of them.
std::unique_ptr<Source> merge_sources(std::vector<MergeInput> inputs, Nanoseconds jump,
                                      std::shared_ptr<MemoryBudget> budget);
// All of them open.
std::unique_ptr<Source> merge_sources(std::vector<std::unique_ptr<Source>> sources,
                                      Nanoseconds jump = kNoEpochs);

}  // namespace unecho::capture
