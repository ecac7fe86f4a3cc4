// SPDX-License-Identifier: BSD-3-Clause
// What pipes and the like were given so far, and how many files were finished: what a process that
// a signal ends has to say. WriteProgress by who writes an output, read by the signal's handler: a
// fixed array of atomics and characters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace unecho::capture {

// A slot; -1: there are no more. name: as in messages, cut off if it is long.
[[nodiscard]] int register_output(std::string_view name) noexcept;
void forget_output(int slot) noexcept;

// So many bytes are on their way; they were taken, or some of them.
void begin_write(int slot, std::size_t bytes) noexcept;
void end_write(int slot, std::size_t bytes) noexcept;
// Whole packets that all bytes so far hold.
void count_packets_written(int slot, std::uint64_t packets) noexcept;

struct WriteProgress {
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;
};
[[nodiscard]] WriteProgress written(int slot) noexcept;

// A file has its final name.
void count_finished_file() noexcept;

// "; 2 files were finished; standard output got 1,234 packets, 56,789 bytes (up to 4,096 more were
// on their way)", or nothing: how much of the text was used. Async-signal-safe.
[[nodiscard]] std::size_t format_write_progress(std::span<char> text) noexcept;

}  // namespace unecho::capture
