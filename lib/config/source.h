// SPDX-License-Identifier: BSD-3-Clause
// A configuration file before TOML looks at it: its bytes, and whether they are text at all.
// Private to config.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "config/load.h"
#include "config/problem.h"

namespace unecho::config {

// Far above any real file. They also bound how deep a dotted key can go: toml++ 3.3 sets no limit
// there and takes its tables apart by recursion.
inline constexpr std::size_t kMaxSourceBytes = std::size_t{1} << 18;
inline constexpr std::size_t kMaxLineBytes = 4096;

// At most one byte more than allowed.
Result<std::string> read_source(const std::string& path, FileKind kind);

// Empty, too large, not text, or text that toml++ cannot be given.
std::optional<Problem> check_source(std::string_view text);

}  // namespace unecho::config
