// SPDX-License-Identifier: BSD-3-Clause
// Which files `unecho pcap` reads and writes, and `unecho capture` writes.
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

namespace unecho::offline {

struct FileOptions {
    std::vector<std::string> inputs;  // merged by time
    bool live = false;  // inputs are interfaces, outputs live (captures/output/output.h)
    const std::atomic<bool>* stop = nullptr;  // of live ones: pipes are not waited for any more
    std::optional<std::string> output;        // what is kept; absent: not written
    std::optional<std::string> dropped;       // the echoes, as a capture
    std::optional<std::string> pairs;         // echo_pairs.h
    // Of captures written; absent: what the name says, or as the first input.
    std::optional<capture::FileFormat> format;
    capture::Split split;          // of output
    capture::Rotation rotation;    // of output, of interfaces
    capture::Selection selection;  // packets that are looked at
    bool recover = false;          // inputs go on behind damage (captures/open_captures.h)
    bool mark =
        false;  // echoes get a comment (echo_comments.h) and stay in the output, which is a pcapng

    [[nodiscard]] capture::OutputOptions output_options() const {
        return {.live = live, .stop = stop};
    }
};

// What a split output became, whose files have other names than that which was given.
struct SplitFiles {
    std::uint64_t count = 0;
    std::string first;
    std::string last;
};

}  // namespace unecho::offline
