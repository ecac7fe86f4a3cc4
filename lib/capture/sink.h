// SPDX-License-Identifier: BSD-3-Clause
// What a writer's bytes go through: a large buffer, and a compressor where the name ends so
// (file_name.h). One system call a buffer. The first error stays: whatever comes after it returns
// it again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "capture/compressor.h"
#include "capture/output.h"

namespace unecho::capture {

class Sink {
  public:
    // Refuses what Output refuses, and a terminal (Errc::kInvalidArgument).
    static Result<Sink> create(const std::string& path);

    // Room for so many bytes, or nullptr: it takes no more (error()), or they are more than the
    // buffer holds and go through put(). Followed by took().
    [[nodiscard]] std::byte* room(std::size_t bytes) {
        if (used_ + bytes > kBuffer) [[unlikely]] {
            return make_room(bytes) ? buffer_.get() + used_ : nullptr;
        }
        return buffer_.get() + used_;
    }
    void took(std::size_t bytes) noexcept { used_ += bytes; }

    Status put(std::span<const std::byte> bytes);

    // A packet was put there whole.
    void counted() noexcept { ++packets_; }

    // For a reader that waits: what is buffered goes out, if it is not compressed.
    Status pass_on();

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

    Sink(std::unique_ptr<Output> output, std::unique_ptr<Compressor> compressor);
    bool make_room(std::size_t bytes);
    bool flush();
    bool send(std::span<const std::byte> bytes);
    bool keep(const Status& status);

    std::unique_ptr<Output> output_;
    std::unique_ptr<Compressor> compressor_;  // null: not compressed
    std::unique_ptr<std::byte[]> buffer_;
    std::size_t used_ = 0;
    std::uint64_t flushed_ = 0;
    std::uint64_t packets_ = 0;
    std::optional<Error> error_;
};

}  // namespace unecho::capture
