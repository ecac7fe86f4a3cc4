// SPDX-License-Identifier: BSD-3-Clause
// A capture as a row of files, named as editcap names them: number and local time of the first
// packet before the suffix, as in taps_00000_20260102030405.pcap.gz. A file gets its name when it
// is complete. Without packets, there is one file with the given name. Each pcapng begins with the
// blocks that it needs (split_preamble.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "captures/output/writer.h"

namespace unecho::capture {

// One of the two is set; 0: not used.
struct Split {
    std::uint64_t packets = 0;  // in a file
    // A packet later than this after the start of its file's interval begins the next file.
    // Intervals without packets have no file.
    Nanoseconds interval = 0;
    [[nodiscard]] bool none() const { return packets == 0 && interval == 0; }
};

// Opens a file of the row, or returns why it cannot.
using OpenPart = std::function<Result<std::unique_ptr<Writer>>(const std::string& path)>;

// keeps_blocks: as Writer::keeps_blocks() of the files.
std::unique_ptr<Writer> make_split_writer(const std::string& path, const Split& split,
                                          OpenPart open, bool keeps_blocks = false);

}  // namespace unecho::capture
