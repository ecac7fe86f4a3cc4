// SPDX-License-Identifier: BSD-3-Clause
// From a TOML file to a valid Config, or to every problem in it at once. Cold; the only module that
// knows toml++. Next: schema.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/problem.h"
#include "config/schema.h"

namespace unecho::config {

using LoadResult = tl::expected<Config, std::vector<Problem>>;

// A pipe will do for a start; a process that forwards must not wait for one.
enum class FileKind : std::uint8_t { kAny, kRegular };

// Reads and validates; everything that can be known without starting DPDK is checked.
LoadResult load_file(const std::string& path, FileKind kind = FileKind::kAny);
LoadResult load_text(std::string_view text, const std::string& path);

// Every key that a file may hold, in the order of docs/configuration.md.
struct KnownKey {
    std::string section;  // "filter", "filter.geometry"
    std::string key;      // "window"
    std::string allowed;  // "a duration from 1us to 1h, with its unit (...)"
    bool required = false;
    std::string fallback;  // the default as the file would write it; empty: there is none
    std::string reload;    // what a reload does with another value: "while packets flow"
};
std::vector<KnownKey> known_keys();

}  // namespace unecho::config
