// SPDX-License-Identifier: BSD-3-Clause
// The bytes of an input, forward only: a file or pipe as it is, or the contents of a compressed one
// (gzip_stream.h, decompress_stream.h). Private to captures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"

namespace unecho::capture {

class ByteStream {
  public:
    virtual ~ByteStream() = default;
    ByteStream(const ByteStream&) = delete;
    ByteStream& operator=(const ByteStream&) = delete;

    // Read the next bytes: wait for the first, then take those that are there. Return 0 at the end.
    // Errc::kIo, with the input's name in its context.
    virtual Result<std::size_t> read(std::span<std::byte> to) = 0;
    // Return true if read() would wait for nothing but a disk.
    [[nodiscard]] virtual bool ready() const { return true; }

    // Bytes of the file consumed, without those still to be decompressed; and its size (0: a pipe).
    [[nodiscard]] virtual std::uint64_t taken() const = 0;
    [[nodiscard]] virtual std::uint64_t size() const = 0;
    // The position of the compressed member of the last bytes read, if it is not the first. How
    // much of that member taken() counts depends on how it is read.
    [[nodiscard]] virtual std::optional<std::uint64_t> member() const { return std::nullopt; }

    // Memory taken to decompress; it may grow while bytes are read.
    [[nodiscard]] virtual std::uint64_t memory() const { return 0; }

    // A defect of the bytes that was not reported yet.
    struct Defect {
        std::string what;
        bool incomplete = true;  // as in Warning (record.h)
        bool ends = true;        // it ends the stream
        bool in_front = false;   // it lies before the bytes read last, not behind them
    };
    virtual std::optional<Defect> defect() { return std::nullopt; }
    // Return true if a defect ended the stream, so that the last record may be cut.
    [[nodiscard]] virtual bool ended_early() const { return false; }
    [[nodiscard]] virtual bool is_compressed() const { return false; }

  protected:
    ByteStream() = default;
};

// The identity of a regular file, whatever its names.
struct FileId {
    std::uint64_t device = 0;
    std::uint64_t number = 0;

    bool operator==(const FileId&) const = default;
};

// Return nothing for anything but a regular file, because only that can be opened again.
std::optional<FileId> regular_file_id(const std::string& path);

// Files may be closed between reads: with thousands of inputs there may be too few descriptors.
enum class DescriptorMode : std::uint8_t { kOpen, kClosed };

// Errc::kNotFound, kPermission, kIo; kUnsupported for a directory.
Result<std::unique_ptr<ByteStream>> open_file(const std::string& path,
                                              DescriptorMode hold = DescriptorMode::kOpen);

// Return true if so many files can be open besides others. Raise the process's limit if needed.
bool raise_descriptor_limit(std::size_t files);

}  // namespace unecho::capture
