// SPDX-License-Identifier: BSD-3-Clause
// One capture as a row of files, named as editcap names them: number and local time of the first
// packet before the suffix, as in taps_00000_20260102030405.pcap.gz. Each has its name when it is
// whole. Without any packet there is one file, under the name given. Each pcapng begins with the
// blocks that it needs (split_preamble.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "captures/output/writer.h"

namespace unecho::capture {

// One of the two; 0: not so.
struct Split {
    std::uint64_t packets = 0;  // of a file
    Nanoseconds interval = 0;  // a packet later than so much after the begin of its file's interval
                               // begins the next; intervals without packets make no file
    [[nodiscard]] bool none() const { return packets == 0 && interval == 0; }
};

// Opens a file of the row, or says why not.
using OpenPart = std::function<Result<std::unique_ptr<Writer>>(const std::string& path)>;

// keeps_blocks: the files do (writer.h).
std::unique_ptr<Writer> make_split_writer(const std::string& path, const Split& split,
                                          OpenPart open, bool keeps_blocks = false);

}  // namespace unecho::capture
