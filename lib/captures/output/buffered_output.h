// SPDX-License-Identifier: BSD-3-Clause
// What a writer's bytes go through: a large buffer, and a compressor where the name ends so
// (file_name.h). One system call a buffer. The first error stays: whatever comes after it returns
// it again. A live file (output.h) is cut back by it to the last whole packet, and what is buffered
// goes out every kFlushInterval; if it is compressed as frames of their own, which are what is cut.
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
    // Refuses what Output refuses, and a terminal (Errc::kInvalidArgument).
    static Result<BufferedOutput> create(const std::string& path,
                                         const OutputOptions& options = {});
    // The same, but for a terminal too.
    static Result<BufferedOutput> create_text(const std::string& path,
                                              const OutputOptions& options = {});

    // Room for so many bytes, or nullptr: it takes no more (error()), or they are more than the
    // buffer holds and go through put(). Followed by took().
    [[nodiscard]] std::byte* room(std::size_t bytes) {
        if (used_ + bytes > kBuffer) [[unlikely]] {
            return make_room(bytes) ? buffer_.get() + used_ : nullptr;
        }
        return buffer_.get() + used_;
    }
    void commit(std::size_t bytes) noexcept { used_ += bytes; }

    Status put(std::span<const std::byte> bytes);

    // A packet was put there whole.
    void end_packet() {
        ++packets_;
        if (live_ && compressor_ == nullptr) {
            whole();
        }
    }

    // Nothing is half put there. For a reader that waits: what is buffered goes out, if it is not
    // compressed. Of a live file: now and then.
    Status flush_for_reader();

    Status overwrite(std::uint64_t offset, std::span<const std::byte> bytes);
    [[nodiscard]] bool can_overwrite() const noexcept {
        return compressor_ == nullptr && output_->can_overwrite();
    }

    Status close();

    // So far, before compression.
    [[nodiscard]] std::uint64_t bytes() const noexcept { return flushed_ + used_; }
    [[nodiscard]] Status status() const {
        return error_ ? Status(tl::unexpected(*error_)) : Status();
    }

  private:
    // Measured: writes of 1 MiB to a new file on ext4 took about five times the system time of
    // these.
    static constexpr std::size_t kBuffer = std::size_t{1} << 17U;
    static constexpr std::chrono::milliseconds kFlushInterval{500};
    // Of a frame, before compression: what a disk that is full takes along.
    static constexpr std::uint64_t kFrameBytes = std::uint64_t{1} << 20U;

    // A place where a file may end.
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
    bool live_;                               // and a file
    std::unique_ptr<std::byte[]> buffer_;
    std::size_t used_ = 0;
    std::uint64_t flushed_ = 0;
    std::uint64_t packets_ = 0;
    std::vector<PacketBoundary> ends_;  // in the buffer
    std::uint64_t sent_from_ = 0;       // where the buffer begins in the output, while it is sent
    PacketBoundary safe_;               // in the output
    std::uint64_t framed_ = 0;          // bytes before the present frame of the compressor
    std::chrono::steady_clock::time_point passed_on_;  // never: the epoch
    std::optional<Error> error_;
};

}  // namespace unecho::capture
