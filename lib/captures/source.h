// SPDX-License-Identifier: BSD-3-Clause
// Module captures: capture files and network interfaces, without DPDK. A Source gives batches of
// packets; a Writer takes them.
//
// A Source is one capture file or pipe (formats/capture_source.h), several merged by time
// (merged_source.h), network interfaces (live/live_source.h), or a selection from another Source
// (selected_source.h). Open files with open_captures() (open_captures.h), and interfaces with
// open_live(). Create output with create_capture() (output/writer.h).
//
// A batch owns the memory of its packets, so another thread may take it. One thread uses a Source.
// MemoryBudget (memory_budget.h) bounds its memory. Damage in a file is a Warning, not an error.
//
// The module does not parse packets and does not know what a duplicate is. It includes base only,
// and alone uses libpcap, zstd and lz4. captures/dedup and captures/analyze are modules of their
// own.
//
// Next: record.h (packet, interface, batch), then open_captures.h and output/writer.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "captures/file_name.h"
#include "captures/interface_list.h"
#include "captures/record.h"

namespace unecho::capture {

class Source {
  public:
    virtual ~Source() = default;
    Source(const Source&) = delete;
    Source& operator=(const Source&) = delete;

    // Clear the batch and fill it with the next packets. Return false at the end, with an empty
    // batch. A file that is cut short, or damaged beyond what can be read, ends with a warning, not
    // an error. Errc::kIo: reading failed, after everything read before was delivered.
    virtual Result<bool> next(Batch& batch) = 0;

    // Call before the first next(), to get the blocks of pcapng that are no packets too; a batch
    // may have no others. nothing_lost: the output keeps everything that losses() would report.
    virtual void keep_blocks(bool /*nothing_lost*/) {}

    // The interfaces met so far, with those of all records delivered. The list only grows.
    [[nodiscard]] virtual InterfaceView interfaces() const = 0;

    // The format of the first input.
    [[nodiscard]] virtual FileFormat format() const { return FileFormat::kPcap; }

    // Bytes of the inputs read so far, and of all (0 if one is a pipe), as stored in the files.
    struct Progress {
        std::uint64_t done = 0;
        std::uint64_t total = 0;
    };
    [[nodiscard]] virtual Progress progress() const = 0;

    [[nodiscard]] virtual std::vector<Warning> warnings() const = 0;

    // Contents that a capture of the records alone lacks, a warning each: comments, secrets, names.
    [[nodiscard]] virtual std::vector<Warning> losses() const { return {}; }

  protected:
    Source() = default;
};

}  // namespace unecho::capture
