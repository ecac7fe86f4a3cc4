// SPDX-License-Identifier: BSD-3-Clause
// Module captures/dedup: `unecho pcap` and `unecho capture`. Read captures or interfaces, remove
// duplicate packets ("echoes"), and write the rest.
//
// BatchReader (batch_reader.h) reads batches and computes digests with Digester, possibly on a
// thread of its own. Deduplicator (deduplicator.h) decides which packets are echoes, with a Decider
// of deciders/. OutputSet (output_set.h) writes kept packets, echoes and pairs. results/ reports:
// Summary (results/summary.h) is the result as text and JSON.
//
// An exact table decides first. When the window no longer fits into --memory, a filter takes over,
// or the table forgets its oldest packets. Parsing, keys and filters are the code that workers run
// on live traffic. The verdicts do not depend on the number of threads.
//
// The module needs no DPDK, and may not include appliance, captures/analyze or monitor.
//
// Next: options.h (what can be requested), deduplicator.h, deciders/decider.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/result.h"
#include "captures/dedup/file_options.h"
#include "captures/dedup/options.h"
#include "captures/dedup/results/summary.h"
#include "captures/source.h"

namespace unecho::dedup {

struct RunProgress {
    capture::Source::Progress input;
    std::uint64_t packets = 0;  // decided
    std::uint64_t echoes = 0;   // among them
    bool full = false;          // the output is complete: nothing more is decided
};

// Called now and then; with interfaces, whenever packets came.
using OnProgress = std::function<void(const RunProgress&)>;

struct ThreadOptions {
    bool ahead = false;      // read and digest ahead, on a thread
    unsigned inflating = 1;  // as in open_captures() (captures/open_captures.h)
};

// The result does not depend on the threads. Errc::kConfig: settings or files that are not allowed.
Result<Summary> run_pcap(const FileOptions& files, const Options& options,
                         const ThreadOptions& threads, const OnProgress& on_progress);

// The same for packets as they are captured. Calls open when all else is right. files: live.
using OpenLive = std::function<Result<std::unique_ptr<capture::Source>>()>;
Result<Summary> run_capture(const FileOptions& files, const Options& options, const OpenLive& open,
                            const OnProgress& on_progress);

}  // namespace unecho::dedup
