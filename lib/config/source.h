// SPDX-License-Identifier: BSD-3-Clause
// A configuration file before TOML: its bytes, and whether they are text at all. Private to config.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "config/load.h"
#include "config/problem.h"

namespace unecho::config {

// Far above any real file. They also bound the depth of a dotted key: toml++ 3.3 has no limit there
// and frees its tables by recursion.
inline constexpr std::size_t kMaxSourceBytes = std::size_t{1} << 18;
inline constexpr std::size_t kMaxLineBytes = 4096;

// Read a file: at most one byte more than allowed.
Result<std::string> read_source(const std::string& path, FileKind kind);

// Return a problem if the text is empty, too large, not text, or nothing that toml++ can be given.
std::optional<Problem> check_source(std::string_view text);

}  // namespace unecho::config
