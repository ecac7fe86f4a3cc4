// SPDX-License-Identifier: BSD-3-Clause
// Open captures as streams, read forward only and in bounded memory. pcap: microseconds,
// nanoseconds, and the modified kind with longer record headers, in both byte orders. pcapng:
// several sections and interfaces. Each may be compressed with gzip, zstd or lz4, in several
// members or frames. Inputs are files or pipes.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/packet_clock.h"
#include "captures/memory_budget.h"
#include "captures/source.h"

namespace unecho::capture {

// Open one input, for tests and benchmarks. path: "-" is standard input. Errc::kNotFound,
// kPermission, kIo; kUnsupported if it is no capture. The context has the path and what was found.
Result<std::unique_ptr<Source>> open_capture(const std::string& path, bool recover = false);

// Open several inputs, merged by time: of the next packets of all inputs, the earliest comes first,
// and among equals that of the input named first. A packet whose time steps back within its input
// comes at once. Packets more than `jump` ahead of what follows them do not hold their input back
// (MergeClock of base/merge.h). Each input keeps its order. A single input is returned as it is.
//
// recover: after an invalid record, search for the next valid ones (recovery.h); packet numbers
// then count the packets that are read. Without it, the input ends there.
//
// All inputs are opened and their headers read before this returns. With kManyInputs or more, or
// too little memory for all, files are closed again until their time comes (merged_source.h). A
// file that is missing or replaced by then is an error. budget: reserved when this returns; null:
// unlimited. threads: how many inflate gzip members for all inputs, the reading one included. They
// need few inputs and enough memory, and change neither packets nor the memory reserved.
inline constexpr std::size_t kManyInputs = 17;
Result<std::unique_ptr<Source>> open_captures(std::span<const std::string> paths,
                                              Nanoseconds jump = kNoEpochs,
                                              std::shared_ptr<MemoryBudget> budget = nullptr,
                                              bool recover = false, unsigned threads = 1);

}  // namespace unecho::capture
