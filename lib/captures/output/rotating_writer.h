// SPDX-License-Identifier: BSD-3-Clause
// One live capture as a row of files that tcpdump's users know: the next one when a file has its
// size, its packets or its time; a ring of them, or an end. Each has a header of its own, and every
// packet is in one of them. Names are tcpdump's: out.pcap, out.pcap1, out.pcap2, in a ring with
// zeros before, so that they sort; by time the name is a format of strftime(3). The number stands
// before a suffix of compression: out.pcap1.gz.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "captures/output/split_writer.h"
#include "captures/output/writer.h"

namespace unecho::capture {

struct Rotation {
    std::uint64_t bytes = 0;    // a file that has more gets no packet any more; 0: any size
    std::uint64_t packets = 0;  // of a file; 0: any number
    Nanoseconds interval = 0;   // whole seconds; 0: any time
    // By bytes or packets: so many make a ring. By the interval: it ends behind so many. 0: no end.
    std::uint64_t files = 0;

    [[nodiscard]] bool none() const { return bytes == 0 && packets == 0 && interval == 0; }
    [[nodiscard]] bool counted() const { return bytes != 0 || packets != 0; }
};

// Of the count-th file, from 0, of those that begin at this time.
[[nodiscard]] std::string rotated_name(const std::string& path, const Rotation& rotation,
                                       Nanoseconds time, std::uint64_t count);

// What a rotated output has come to.
struct RotationResult {
    bool full = false;                  // it has all its files; nothing more is written
    std::uint64_t after_last_file = 0;  // packets that were kept and came behind the last of them
};

// Whether names by time differ: there is a conversion of strftime(3) in it.
[[nodiscard]] bool has_time_format(const std::string& path);

// keeps_blocks: the files do (writer.h). now: the time when it begins, after which its first file
// is named. An interval whose name is that of the one before goes on in its file.
std::unique_ptr<Writer> make_rotating_writer(const std::string& path, const Rotation& rotation,
                                             OpenPart open, bool keeps_blocks, Nanoseconds now,
                                             std::shared_ptr<RotationResult> end);

}  // namespace unecho::capture
