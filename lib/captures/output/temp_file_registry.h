// SPDX-License-Identifier: BSD-3-Clause
// The temporary files that would be left if the process ended now. A signal handler removes them;
// it uses a fixed array of atomics and characters only.
#pragma once

#include <string>

namespace unecho::capture {

inline constexpr unsigned kMaxTempFiles = 32;

// Return the file's slot, or -1: too many files, or a path longer than the system takes.
[[nodiscard]] int register_temp_file(const std::string& path) noexcept;

// Forget a file that has its final name, or is gone.
void forget_temp_file(int slot) noexcept;

// Remove all of them. Async-signal-safe: for a handler that then ends the process.
void remove_temp_files() noexcept;

}  // namespace unecho::capture
