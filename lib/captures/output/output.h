// SPDX-License-Identifier: BSD-3-Clause
// A file to write to. There is never half a file under its name: it is written beside it as
// .NAME.unecho-XXXXXX, and close() renames it. An existing file is replaced as a whole and keeps
// its mode. Standard output, pipes and devices are written directly; if they are full, writing
// waits. What another user may have planted in a directory like /tmp is refused
// (base/os/symlink_guard.h). Writes are not buffered.
//
// A live output has its name from the beginning, and keeps what was written, however it ends:
// packets cannot be captured again, and readers may follow it. The first write empties an old file.
//
// A pipe closed by its reader is an error like others only if the program ignores SIGPIPE, which it
// must do. For SIGINT and the like: temp_file_registry.h.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace unecho::capture {

struct OutputOptions {
    bool live = false;
    // Once this is set, a pipe that takes nothing for kReaderTimeout is an error. null: wait on.
    const std::atomic<bool>* stop = nullptr;
};

class Output {
  public:
    static constexpr std::chrono::seconds kReaderTimeout{1};

    // "-" is standard output. Errc::kInvalidArgument: a directory; kNotFound, kPermission, kIo.
    static Result<std::unique_ptr<Output>> create(const std::string& path,
                                                  const OutputOptions& options = {});

    ~Output();  // without close(): leaves nothing, or what a live one wrote
    Output(const Output&) = delete;
    Output& operator=(const Output&) = delete;

    Status write(std::span<const std::byte> bytes);

    // Declare that the bytes written so far hold so many whole packets: for messages.
    void count_packets(std::uint64_t packets) noexcept;

    // Replace bytes written before. Only if can_overwrite().
    Status overwrite(std::uint64_t offset, std::span<const std::byte> bytes);
    [[nodiscard]] bool can_overwrite() const noexcept { return !temporary_.empty(); }

    // Return true if this is a live output, and a file.
    [[nodiscard]] bool can_truncate() const noexcept { return options_.live && !is_stream_; }
    // Remove the last bytes. Only if can_truncate(). A new file that ends up empty is deleted.
    Status truncate(std::uint64_t bytes);
    // Bytes written so far, with those of a last write() that failed.
    [[nodiscard]] std::uint64_t taken() const noexcept { return taken_; }

    // Return true for a pipe or the like, whose reader waits for what is written.
    [[nodiscard]] bool is_stream() const noexcept { return is_stream_; }

    [[nodiscard]] bool is_terminal() const noexcept;

    // Give the file its final name. It is not synced to disk, so a power failure may lose it.
    Status close();

    // For messages.
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

  private:
    Output(std::string name, const OutputOptions& options)
        : name_(std::move(name)), options_(options) {}
    Status open_stream(const std::string& path, int descriptor);
    Status open_replacement(const std::string& path);
    Status open_in_place(const std::string& path);
    Status truncate_once();
    // Wait until a pipe takes something. Once *stop is set, fail after kReaderTimeout.
    [[nodiscard]] Status wait_for_reader() const;
    Status open_temporary(const std::string& directory, const std::string& file);
    void discard() noexcept;
    [[nodiscard]] tl::unexpected<Error> failed(int number) const;
    [[nodiscard]] tl::unexpected<Error> no_directory() const;
    // Return "1,234 packets, 56,789 bytes".
    [[nodiscard]] std::string given_text() const;

    std::string name_;
    std::string final_;      // path with symbolic links followed
    std::string temporary_;  // empty: written directly
    int descriptor_ = -1;
    int unfinished_ = -1;  // its slot in temp_file_registry.h
    int written_ = -1;     // its slot in write_progress.h, if written directly
    bool is_stream_ = false;
    bool has_reader_ = false;      // a pipe or a socket
    bool created_ = false;         // a live file that did not exist
    bool truncate_first_ = false;  // a live file that has earlier contents
    std::uint64_t taken_ = 0;
    OutputOptions options_;
};

// Return the path that an output's path leads to, whether or not the file exists, so that a
// symbolic link stays one. Empty: errno says why.
[[nodiscard]] std::string resolve(std::string path);

// Return true if a file's name has this suffix, in any case of letters.
[[nodiscard]] bool has_suffix(std::string_view name, std::string_view suffix);

// Return true if writing to output would overwrite input, or come back as input: both are the same
// file or pipe. "-" is standard input or output; /dev/fd/1 and the like are their descriptors.
[[nodiscard]] bool is_same_file(const std::string& input, const std::string& output);

// Return true if two outputs would mix, or one would replace the other: the same file, or the same
// name of a file that does not exist yet. False for /dev/null.
[[nodiscard]] bool is_same_output(const std::string& a, const std::string& b);

// Return the indices of the first two inputs that would each get parts of the same pipe.
[[nodiscard]] std::optional<std::pair<std::size_t, std::size_t>> find_shared_pipe(
    std::span<const std::string> inputs);

}  // namespace unecho::capture
