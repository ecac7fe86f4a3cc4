// SPDX-License-Identifier: BSD-3-Clause
// The bytes that pipes and the like have received, and the number of finished files: the report of
// a process that a signal ends. Outputs update it and the signal's handler reads it, so it is a
// fixed array of atomics and characters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace unecho::capture {

// Return a slot, or -1 if there are no more. name: as in messages, cut off if it is long.
[[nodiscard]] int register_output(std::string_view name) noexcept;
void forget_output(int slot) noexcept;

// Report bytes before they are written, then those that were taken.
void begin_write(int slot, std::size_t bytes) noexcept;
void end_write(int slot, std::size_t bytes) noexcept;
// Report the whole packets in all bytes so far.
void count_packets_written(int slot, std::uint64_t packets) noexcept;

struct WriteProgress {
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;
};
[[nodiscard]] WriteProgress written(int slot) noexcept;

// Count a file that got its final name.
void count_finished_file() noexcept;

// Write "; 2 files were finished; standard output got 1,234 packets, 56,789 bytes (up to 4,096 more
// were on their way)" or nothing, and return its length. Async-signal-safe.
[[nodiscard]] std::size_t format_write_progress(std::span<char> text) noexcept;

}  // namespace unecho::capture
