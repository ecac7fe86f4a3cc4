// SPDX-License-Identifier: BSD-3-Clause
// Bytes of an input, forward only: a file or pipe as it is, or what is in a compressed one
// (gzip_stream.h, decompress_stream.h). Private to capture.
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

    // Puts the next bytes there, as many as there are without waiting longer than for the first.
    // 0: the end. Errc::kIo, whose context names the input.
    virtual Result<std::size_t> read(std::span<std::byte> to) = 0;
    // Whether read() would not wait for anybody but a disk.
    [[nodiscard]] virtual bool ready() const { return true; }

    // Bytes taken so far as they lie in the file, without those that wait to be decompressed, and
    // all that it has; 0 for a pipe.
    [[nodiscard]] virtual std::uint64_t taken() const = 0;
    [[nodiscard]] virtual std::uint64_t size() const = 0;
    // Where the part of the file begins that the last bytes read are of, if it is not the first:
    // how much was taken of it depends on how it is read.
    [[nodiscard]] virtual std::optional<std::uint64_t> member() const { return std::nullopt; }

    // Taken to decompress them: it may grow with what was read.
    [[nodiscard]] virtual std::uint64_t memory() const { return 0; }

    // What is wrong with the bytes and was not told yet.
    struct Defect {
        std::string what;
        bool incomplete = true;  // Warning's
        bool ends = true;        // the stream
        bool in_front = false;   // of the bytes read last, not behind them
    };
    virtual std::optional<Defect> defect() { return std::nullopt; }
    // Whether what was wrong made an end of them, so that the last record may be cut.
    [[nodiscard]] virtual bool ended_early() const { return false; }
    [[nodiscard]] virtual bool is_compressed() const { return false; }

  protected:
    ByteStream() = default;
};

// A regular file, whatever its names.
struct FileId {
    std::uint64_t device = 0;
    std::uint64_t number = 0;

    bool operator==(const FileId&) const = default;
};

// Nothing if it is none: a pipe, standard input, nothing at all. Only these can be opened again.
std::optional<FileId> regular_file_id(const std::string& path);

// Errc::kNotFound, kPermission, kIo; kUnsupported for a directory. Whether a file stays open
// between two reads: with thousands of inputs there may be fewer descriptors than files.
enum class DescriptorMode : std::uint8_t { kOpen, kClosed };
Result<std::unique_ptr<ByteStream>> open_file(const std::string& path,
                                              DescriptorMode hold = DescriptorMode::kOpen);

// Whether as many files can be open, beside some others. Raises the process's limit if need be.
bool raise_descriptor_limit(std::size_t files);

}  // namespace unecho::capture
