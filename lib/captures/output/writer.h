// SPDX-License-Identifier: BSD-3-Clause
// Writes a capture: pcap or pcapng, compressed where its name says so. Under its final name there
// is never half a file: it is written beside it under another name and renamed by close(). Not for
// pipes and devices, which are written to as they are, nor for live outputs (output.h), whose whole
// packets stay there when writing fails, and are there within a second of write().
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

// A comment that a packet gets, where the format has comments: readable UTF-8.
struct Comment {
    std::size_t record = 0;  // index
    std::string text;
};

// What a batch has beside its records. Comments in the order of records.
struct BatchExtras {
    std::span<const Block> blocks;
    std::span<const Comment> comments;
};

class Writer {
  public:
    virtual ~Writer() = default;
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    // Records whose bit in keep is set; keep[i / 64] >> i % 64 is record i's. interfaces: of the
    // source, at least up to those of the records. Errc::kIo: full disk, closed pipe and the like.
    // Errc::kUnsupported: pcap, and the packets have several link types; the context says what to
    // do.
    virtual Status write(std::span<const Record> records, std::span<const std::uint64_t> keep,
                         std::span<const Interface> interfaces, const BatchExtras& beside) = 0;
    Status write(std::span<const Record> records, std::span<const std::uint64_t> keep,
                 std::span<const Interface> interfaces) {
        return write(records, keep, interfaces, BatchExtras());
    }

    // All interfaces that there will be, before the first packet. For a reader that shows what it
    // has before one comes: what the format says of them goes out at once.
    virtual Status begin(std::span<const Interface> /*interfaces*/) { return {}; }

    // Whether blocks and comments are written.
    [[nodiscard]] virtual bool keeps_blocks() const { return false; }

    // Everything on disk, under its final name. Without this call nothing is left of it.
    virtual Status close() = 0;

    // WriteProgress so far, before compression.
    [[nodiscard]] virtual std::uint64_t bytes() const = 0;

    // What the format could not hold, so far: each kind once, with the first packet of it.
    [[nodiscard]] virtual std::vector<Warning> warnings() const = 0;

  protected:
    Writer() = default;
};

// path: "-" is standard output. format: absent: what the name says (file_name.h), or `otherwise`
// where it says nothing. pcap: the precision is the finest of the interfaces known at the first
// record that is kept, unless the format names it (nanoseconds if a tick is no whole number of
// microseconds), the snap length the largest; an empty capture has those of the first interface, or
// Ethernet and microseconds. The length of frame check sequences that a pcap's link type tells is
// kept where all interfaces known by then agree. pcapng: if the batches come with their blocks
// (Source::keep_blocks) and are those of one pcapng, every block is written as it is, so that
// nothing but what is not kept differs; those of several inputs become one section. Times beyond 32
// bits of seconds are written modulo 2^32, with a warning.
Result<std::unique_ptr<Writer>> create_capture(const std::string& path,
                                               std::optional<FileFormat> format = std::nullopt,
                                               FileFormat otherwise = FileFormat::kPcap,
                                               const OutputOptions& options = {});

}  // namespace unecho::capture
