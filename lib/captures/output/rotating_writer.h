// SPDX-License-Identifier: BSD-3-Clause
// A live capture as a row of files as tcpdump writes them. The next file begins when one has its
// size, its packets or its time. The row is a ring, or has an end. Each file has its own header,
// and every packet is in one file. Names are tcpdump's: out.pcap, out.pcap1, out.pcap2, in a ring
// with leading zeros, so that they sort. By time, the name is a format of strftime(3). The number
// precedes a suffix of compression: out.pcap1.gz.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "captures/output/split_writer.h"
#include "captures/output/writer.h"

namespace unecho::capture {

struct Rotation {
    std::uint64_t bytes = 0;    // a larger file gets no more packets; 0: any size
    std::uint64_t packets = 0;  // in a file; 0: any number
    Nanoseconds interval = 0;   // whole seconds; 0: any time
    // By bytes or packets: files in the ring. By interval: files until the end. 0: no end.
    std::uint64_t files = 0;

    [[nodiscard]] bool none() const { return bytes == 0 && packets == 0 && interval == 0; }
    [[nodiscard]] bool counted() const { return bytes != 0 || packets != 0; }
};

// Return the name of the count-th file, from 0, of those that begin at this time.
[[nodiscard]] std::string rotated_name(const std::string& path, const Rotation& rotation,
                                       Nanoseconds time, std::uint64_t count);

struct RotationResult {
    bool full = false;                  // all files are complete; nothing more is written
    std::uint64_t after_last_file = 0;  // kept packets behind the last file
};

// Return true if the path has a conversion of strftime(3), so that names by time differ.
[[nodiscard]] bool has_time_format(const std::string& path);

// keeps_blocks: as Writer::keeps_blocks() of the files. now: the start, after which the first file
// is named. An interval with the same name as the one before continues its file.
std::unique_ptr<Writer> make_rotating_writer(const std::string& path, const Rotation& rotation,
                                             OpenPart open, bool keeps_blocks, Nanoseconds now,
                                             std::shared_ptr<RotationResult> end);

}  // namespace unecho::capture
