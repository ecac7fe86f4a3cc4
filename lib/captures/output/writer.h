// SPDX-License-Identifier: BSD-3-Clause
// The output of a capture: pcap or pcapng, compressed if its name says so. There is never half a
// file under its final name: it is written beside it under another name, and close() renames it.
// Pipes and devices are written directly, and so are live outputs (output.h). A live output has
// whole packets within a second of write(), and keeps them if writing fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "captures/file_name.h"
#include "captures/output/output.h"
#include "captures/record.h"

namespace unecho::capture {

// A comment for a packet, in printable UTF-8. Formats without comments ignore it.
struct Comment {
    std::size_t record = 0;  // index of the packet
    std::string text;
};

// Parts of a batch besides its records. Comments are in the order of records.
struct BatchExtras {
    std::span<const Block> blocks;
    std::span<const Comment> comments;
};

class Writer {
  public:
    virtual ~Writer() = default;
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    // Write the records whose bit in keep is set; keep[i / 64] >> i % 64 is record i's. interfaces:
    // of the source, at least up to those of the records. Errc::kIo: full disk, closed pipe and the
    // like. Errc::kUnsupported: pcap, and packets of several link types.
    virtual Status write(std::span<const Record> records, std::span<const std::uint64_t> keep,
                         std::span<const Interface> interfaces, const BatchExtras& beside) = 0;
    Status write(std::span<const Record> records, std::span<const std::uint64_t> keep,
                 std::span<const Interface> interfaces) {
        return write(records, keep, interfaces, BatchExtras());
    }

    // Declare all interfaces before the first packet, for a reader that shows them early. What the
    // format says of them is sent at once.
    virtual Status begin(std::span<const Interface> /*interfaces*/) { return {}; }

    // Return true if blocks and comments are written.
    [[nodiscard]] virtual bool keeps_blocks() const { return false; }

    // Complete the file under its final name. Without this call, nothing is left of it.
    virtual Status close() = 0;

    // Bytes written so far, before compression.
    [[nodiscard]] virtual std::uint64_t bytes() const = 0;

    // Losses of the format so far: a warning for each kind, with its first packet.
    [[nodiscard]] virtual std::vector<Warning> warnings() const = 0;

  protected:
    Writer() = default;
};

// Create the output of a capture. path: "-" is standard output. format: absent: as the name says
// (file_name.h), or `otherwise` if it says nothing.
//
// pcap: the precision is the finest of the interfaces known at the first record that is kept,
// unless the format names it: nanoseconds if a tick is no whole number of microseconds. The snap
// length is the largest. An empty capture has those of the first interface, or Ethernet and
// microseconds. The length of frame check sequences that a pcap states is kept if all interfaces
// known by then agree. Times beyond 32 bits of seconds are written modulo 2^32, with a warning.
//
// pcapng: if the batches come with their blocks (Source::keep_blocks) from one pcapng, every block
// is written as it is, and only what is not kept is missing. Several inputs become one section.
Result<std::unique_ptr<Writer>> create_capture(const std::string& path,
                                               std::optional<FileFormat> format = std::nullopt,
                                               FileFormat otherwise = FileFormat::kPcap,
                                               const OutputOptions& options = {});

}  // namespace unecho::capture
