// SPDX-License-Identifier: BSD-3-Clause
// The buffer between a Writer and its Output, with a compressor if the file's name asks for one
// (file_name.h). A full buffer is one system call. The first error is kept, and every later call
// returns it. A live file (output.h) is then cut back to its last whole packet. Its buffered
// packets are written every kFlushInterval; if compressed, as frames, which are cut as a whole.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "captures/compression/compressor.h"
#include "captures/output/output.h"

namespace unecho::capture {

class BufferedOutput {
  public:
    // Create the output of a capture. Errc::kInvalidArgument for a terminal, and those of Output.
    static Result<BufferedOutput> create(const std::string& path,
                                         const OutputOptions& options = {});
    // Create the output of a text, which may be a terminal.
    static Result<BufferedOutput> create_text(const std::string& path,
                                              const OutputOptions& options = {});

    // Return room for so many bytes, to be followed by commit(). nullptr: it takes no more
    // (status()), or they exceed the buffer and must go through put().
    [[nodiscard]] std::byte* room(std::size_t bytes) {
        if (used_ + bytes > kBuffer) [[unlikely]] {
            return make_room(bytes) ? buffer_.get() + used_ : nullptr;
        }
        return buffer_.get() + used_;
    }
    void commit(std::size_t bytes) noexcept { used_ += bytes; }

    Status put(std::span<const std::byte> bytes);

    void end_packet() {
        ++packets_;
        if (live_ && compressor_ == nullptr) {
            whole();
        }
    }

    // Between packets: send what is buffered and not compressed to a reader that waits. Write
    // buffered packets of a live file, now and then.
    Status flush_for_reader();

    Status overwrite(std::uint64_t offset, std::span<const std::byte> bytes);
    [[nodiscard]] bool can_overwrite() const noexcept {
        return compressor_ == nullptr && output_->can_overwrite();
    }

    Status close();

    // Bytes so far, before compression.
    [[nodiscard]] std::uint64_t bytes() const noexcept { return flushed_ + used_; }
    [[nodiscard]] Status status() const {
        return error_ ? Status(tl::unexpected(*error_)) : Status();
    }

  private:
    // Measured: writes of 1 MiB to a new file on ext4 took about five times the system time.
    static constexpr std::size_t kBuffer = std::size_t{1} << 17U;
    static constexpr std::chrono::milliseconds kFlushInterval{500};
    // Size of a live file's frame before compression, and so the most that a full disk costs.
    static constexpr std::uint64_t kFrameBytes = std::uint64_t{1} << 20U;

    // A place where a live file may end.
    struct PacketBoundary {
        std::uint64_t at = 0;
        std::uint64_t packets = 0;
    };

    BufferedOutput(std::unique_ptr<Output> output, Compression compression, bool live);
    void whole() { ends_.push_back({used_, packets_}); }
    void note_sent(std::uint64_t sent);
    void truncate_to_boundary();
    bool end_frame();
    bool make_room(std::size_t bytes);
    bool flush();
    bool send(std::span<const std::byte> bytes);
    bool keep(const Status& status);

    std::unique_ptr<Output> output_;
    Compression compression_;
    std::unique_ptr<Compressor> compressor_;  // null: not compressed
    bool live_;                               // a live output that is a file
    std::unique_ptr<std::byte[]> buffer_;
    std::size_t used_ = 0;
    std::uint64_t flushed_ = 0;
    std::uint64_t packets_ = 0;
    std::vector<PacketBoundary> ends_;  // of the packets in the buffer
    std::uint64_t sent_from_ = 0;       // position of the buffer in the output, while it is sent
    PacketBoundary safe_;               // the last one in the output
    std::uint64_t framed_ = 0;          // bytes before the compressor's current frame
    std::chrono::steady_clock::time_point passed_on_;  // last flush of a live file
    std::optional<Error> error_;
};

}  // namespace unecho::capture
