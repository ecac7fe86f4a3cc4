// SPDX-License-Identifier: BSD-3-Clause
// `unecho pcap`: captures in, a capture without echoes out.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "capture/file_name.h"
#include "capture/select.h"
#include "capture/source.h"
#include "capture/split_writer.h"
#include "offline/options.h"
#include "offline/summary.h"

namespace unecho::offline {

struct Files {
    std::vector<std::string> inputs;     // merged by time
    std::optional<std::string> output;   // what is kept; absent: not written
    std::optional<std::string> dropped;  // the echoes, as a capture
    std::optional<std::string> pairs;    // echo_pairs.h
    // Of captures written; absent: what the name says, or as the first input.
    std::optional<capture::FileFormat> format;
    capture::Split split;          // of output
    capture::Selection selection;  // packets that are looked at
    bool recover = false;          // inputs go on behind damage (capture/reader.h)
    bool mark = false;  // echoes get a comment (mark.h) and stay in the output, which is a pcapng
};

// Called now and then.
using OnProgress = std::function<void(const capture::Source::Progress&)>;

// ahead: reading and digesting run ahead on a thread. The answer is the same. Errc::kConfig: what
// is asked for is not allowed, files that would overwrite one another too.
Result<Summary> run(const Files& files, const Options& options, bool ahead,
                    const OnProgress& on_progress);

}  // namespace unecho::offline
