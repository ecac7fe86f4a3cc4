// SPDX-License-Identifier: BSD-3-Clause
// Where packets come from: one capture (open_captures.h), or several merged by time
// (merged_source.h).
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

    // Empties the batch and fills it with the next packets. False: no more, and the batch is empty.
    // A file that is cut short, or has a record that cannot be understood and beyond which nothing
    // can, ends with a warning, not an error. Errc::kIo: reading failed; what was read before has
    // been given.
    virtual Result<bool> next(Batch& batch) = 0;

    // Before the first next(): batches come with the blocks of pcapng that are no packets, some
    // with those alone. nothing_lost: a capture made of all that has what losses() would tell.
    virtual void keep_blocks(bool /*nothing_lost*/) {}

    // Those met so far; grows while packets are read, never shrinks. For every record given so far.
    [[nodiscard]] virtual InterfaceView interfaces() const = 0;

    // The format of the first input.
    [[nodiscard]] virtual FileFormat format() const { return FileFormat::kPcap; }

    // Bytes of the inputs taken so far, as they lie in the files (compressed ones count so), and
    // the sum of their sizes; total is 0 where one is a pipe.
    struct Progress {
        std::uint64_t done = 0;
        std::uint64_t total = 0;
    };
    [[nodiscard]] virtual Progress progress() const = 0;

    [[nodiscard]] virtual std::vector<Warning> warnings() const = 0;

    // What the inputs hold beside packets that a capture made of the records will lack, as
    // warnings, each once: comments and flags of packets, secrets, names.
    [[nodiscard]] virtual std::vector<Warning> losses() const { return {}; }

  protected:
    Source() = default;
};

}  // namespace unecho::capture
