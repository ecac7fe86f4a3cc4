// SPDX-License-Identifier: BSD-3-Clause
// `unecho pcap` and `unecho capture`: captures or interfaces in, a capture without echoes out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/result.h"
#include "captures/dedup/file_options.h"
#include "captures/dedup/options.h"
#include "captures/dedup/results/summary.h"
#include "captures/source.h"

namespace unecho::offline {

struct RunProgress {
    capture::Source::Progress input;
    std::uint64_t packets = 0;  // decided
    std::uint64_t echoes = 0;   // of them
    bool full = false;          // the output takes no more: nothing more is decided
};

// Called now and then: of interfaces whenever packets came.
using OnProgress = std::function<void(const RunProgress&)>;

struct ThreadOptions {
    bool ahead = false;      // reading and digesting run ahead on a thread
    unsigned inflating = 1;  // as open_captures() (captures/open_captures.h)
};

// The answer is the same on any threads. Errc::kConfig: what is asked for is not allowed, files
// that would overwrite one another too.
Result<Summary> run_pcap(const FileOptions& files, const Options& options,
                         const ThreadOptions& threads, const OnProgress& on_progress);

// The same of packets that come as they are captured: opens them when all else is known to be
// right, and reads ahead always. files: live.
using OpenLive = std::function<Result<std::unique_ptr<capture::Source>>()>;
Result<Summary> run_capture(const FileOptions& files, const Options& options, const OpenLive& open,
                            const OnProgress& on_progress);

}  // namespace unecho::offline
