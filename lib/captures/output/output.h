// SPDX-License-Identifier: BSD-3-Clause
// A file to write to, of which there is never half under its name: it is written beside it as
// .NAME.unecho-XXXXXX and renamed by close(). An existing file is replaced whole and its mode kept.
// Standard output, pipes and devices are written to as they are, waiting where they are full. What
// another user may have planted in a directory like /tmp is refused (base/os/symlink_guard.h). Not
// buffered.
//
// A live output has its name from the beginning, and what is in it stays, however it ends: for what
// cannot be had again, and for who reads along. A file that was there before is emptied by the
// first write.
//
// A pipe closed by its reader is an error like others only where SIGPIPE is ignored; that is the
// program's to do. For SIGINT and the like: temp_file_registry.h.
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
    // Once this is set, a pipe that takes nothing for kReaderTimeout is an error; null: it is
    // waited for.
    const std::atomic<bool>* stop = nullptr;
};

class Output {
  public:
    static constexpr std::chrono::seconds kReaderTimeout{1};

    // path: "-" is standard output. Errc::kInvalidArgument (a directory), kNotFound, kPermission,
    // kIo.
    static Result<std::unique_ptr<Output>> create(const std::string& path,
                                                  const OutputOptions& options = {});

    ~Output();  // without close(): nothing is left, of a live one what was written
    Output(const Output&) = delete;
    Output& operator=(const Output&) = delete;

    Status write(std::span<const std::byte> bytes);

    // What was written so far holds so many whole packets: for messages.
    void count_packets(std::uint64_t packets) noexcept;

    // Bytes that were written before; only where can_overwrite().
    Status overwrite(std::uint64_t offset, std::span<const std::byte> bytes);
    [[nodiscard]] bool can_overwrite() const noexcept { return !temporary_.empty(); }

    // Whether this is live, and a file.
    [[nodiscard]] bool can_truncate() const noexcept { return options_.live && !is_stream_; }
    // The last bytes were not written; only where can_truncate(). A new file of which nothing is
    // left goes.
    Status truncate(std::uint64_t bytes);
    // Bytes written so far, of the last write() if it failed too.
    [[nodiscard]] std::uint64_t taken() const noexcept { return taken_; }

    // A pipe or the like, whose reader waits for what is written.
    [[nodiscard]] bool is_stream() const noexcept { return is_stream_; }

    [[nodiscard]] bool is_terminal() const noexcept;

    // The file has its final name. The kernel may still hold it in memory: not for power failures.
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
    // Until a pipe takes something, or it was told to stop and nothing happens.
    [[nodiscard]] Status wait_for_reader() const;
    Status open_temporary(const std::string& directory, const std::string& file);
    void discard() noexcept;
    [[nodiscard]] tl::unexpected<Error> failed(int number) const;
    [[nodiscard]] tl::unexpected<Error> no_directory() const;
    // "1,234 packets, 56,789 bytes"
    [[nodiscard]] std::string given_text() const;

    std::string name_;
    std::string final_;      // with symbolic links followed
    std::string temporary_;  // empty: written to as it is
    int descriptor_ = -1;
    int unfinished_ = -1;  // its slot
    int written_ = -1;     // its slot, if it is written to as it is
    bool is_stream_ = false;
    bool has_reader_ = false;      // a pipe or a socket
    bool created_ = false;         // of a live file: was not there before
    bool truncate_first_ = false;  // of a live file: has what was there before
    std::uint64_t taken_ = 0;
    OutputOptions options_;
};

// What a path of an output leads to, whether there is such a file yet or not, so that a symbolic
// link stays one. Empty: errno says why not.
[[nodiscard]] std::string resolve(std::string path);

// Whether a file's name ends so, whatever the case of its letters.
[[nodiscard]] bool has_suffix(std::string_view name, std::string_view suffix);

// Whether writing to output would overwrite input, or come back as input: both are the same file or
// pipe. "-" is standard input or output; /dev/stdout, /dev/fd/1 and the like are what they stand
// for.
[[nodiscard]] bool is_same_file(const std::string& input, const std::string& output);

// Whether two outputs would mix, or one replace the other: the same file, or the same name where
// there is none yet. Not so for /dev/null.
[[nodiscard]] bool is_same_output(const std::string& a, const std::string& b);

// The first two inputs, by their places, that would each get parts of the same pipe.
[[nodiscard]] std::optional<std::pair<std::size_t, std::size_t>> find_shared_pipe(
    std::span<const std::string> inputs);

}  // namespace unecho::capture
