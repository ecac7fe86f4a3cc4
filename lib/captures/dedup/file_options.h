// SPDX-License-Identifier: BSD-3-Clause
// The files that `unecho pcap` reads and writes, and that `unecho capture` writes.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "captures/file_name.h"
#include "captures/output/output.h"
#include "captures/output/rotating_writer.h"
#include "captures/output/split_writer.h"
#include "captures/selected_source.h"

namespace unecho::dedup {

struct FileOptions {
    std::vector<std::string> inputs;  // merged by time
    bool live = false;  // inputs are interfaces, and outputs are live (captures/output/output.h)
    const std::atomic<bool>* stop = nullptr;  // once set, live outputs stop waiting for pipes
    std::optional<std::string> output;        // kept packets; absent: not written
    std::optional<std::string> dropped;       // the echoes, as a capture
    std::optional<std::string> pairs;         // results/echo_pairs.h
    // For written captures; absent: what the name says, or as the first input.
    std::optional<capture::FileFormat> format;
    capture::Split split;          // of output
    capture::Rotation rotation;    // of output, with interfaces
    capture::Selection selection;  // packets to process
    bool recover = false;          // continue inputs behind damage (captures/open_captures.h)
    bool mark =
        false;  // echoes stay in the output, a pcapng, with a comment (results/echo_comments.h)

    [[nodiscard]] capture::OutputOptions output_options() const {
        return {.live = live, .stop = stop};
    }
};

// The files of a split output, whose names differ from the given one.
struct SplitFiles {
    std::uint64_t count = 0;
    std::string first;
    std::string last;
};

}  // namespace unecho::dedup
