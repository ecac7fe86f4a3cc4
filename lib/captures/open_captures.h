// SPDX-License-Identifier: BSD-3-Clause
// Reads a capture as a stream, forward only, in bounded memory: pcap (microseconds, nanoseconds,
// the modified kind with longer records; both byte orders), pcapng (several sections and
// interfaces), each also compressed with gzip, zstd or lz4 (several members or frames too). Files
// and pipes.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/packet_clock.h"
#include "captures/memory_budget.h"
#include "captures/source.h"

namespace unecho::capture {

// One input, for tests and benchmarks. path: "-" is standard input. Errc::kNotFound, kPermission,
// kIo; kUnsupported for what is no capture. The context names the path and says what was found and
// what is allowed.
Result<std::unique_ptr<Source>> open_capture(const std::string& path, bool recover = false);

// Several, merged by time: of the next packets of all inputs the one with the earliest time comes
// first, among equals that of the input named first. A packet whose time steps back within its
// input comes at once; packets more than `jump` ahead of what follows them do not hold their input
// back (MergeClock of base/merge.h). Each input keeps its order. One is passed on as it is.
// recover: behind a record that cannot be one, records that go on are sought (recovery.h), and the
// numbers of packets count those that are read; else an input ends there.
//
// All are opened and their headers read before this returns. If they are many (kManyInputs), or
// more than the allowance has memory for, files are closed again until their time has come
// (merged_source.h); one that is another file by then, or is not there, is an error. allowance:
// reserved when this returns; null: any amount of memory. threads: for inflating members of gzip
// files, the one that reads among them; what is read is the same for any number, and so is what is
// reserved. They are for all inputs together, if these are few and there is memory.
inline constexpr std::size_t kManyInputs = 17;
Result<std::unique_ptr<Source>> open_captures(std::span<const std::string> paths,
                                              Nanoseconds jump = kNoEpochs,
                                              std::shared_ptr<MemoryBudget> budget = nullptr,
                                              bool recover = false, unsigned threads = 1);

}  // namespace unecho::capture
