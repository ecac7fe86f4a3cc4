// SPDX-License-Identifier: BSD-3-Clause
// The temporary files that would be left if the process were ended now. A signal handler removes
// them; everything that it touches is a fixed array of atomics and characters.
#pragma once

#include <string>

namespace unecho::capture {

// Files that can be registered at the same time.
inline constexpr unsigned kMaxTempFiles = 32;

// A slot to forget it by; -1: too many, or a name longer than the system takes.
[[nodiscard]] int register_temp_file(const std::string& path) noexcept;

// The file has its final name or is gone.
void forget_temp_file(int slot) noexcept;

// Removes all of them. Async-signal-safe: from a handler that then ends the process.
void remove_temp_files() noexcept;

}  // namespace unecho::capture
