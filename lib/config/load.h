// SPDX-License-Identifier: BSD-3-Clause
// config: from a TOML file to a valid Config, or to every problem in it at once, each with line,
// key and what is allowed. Everything that can be known without starting DPDK is checked here.
//
// A file passes source.h (is it text at all), load.cpp (TOML to fields, by the tables of
// fields.cpp), validate.cpp and check_devices.cpp (what keys mean together).
//
// Cold; the only module that knows toml++. May not: start or probe anything. Next: schema.h (the
// result as plain data), fields.h (how to add a key), compare.h (reloads).
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

// A start may read a pipe; a process that forwards packets must not wait for one.
enum class FileKind : std::uint8_t { kAny, kRegular };

LoadResult load_file(const std::string& path, FileKind kind = FileKind::kAny);
LoadResult load_text(std::string_view text, const std::string& path);

// A key that a file may hold. known_keys() has the order of docs/configuration.md.
struct KnownKey {
    std::string section;  // "filter", "filter.geometry"
    std::string key;      // "window"
    std::string allowed;  // "a duration from 1us to 1h, with its unit (...)"
    bool required = false;
    std::string fallback;  // the default as the file would write it; empty: none
    std::string reload;    // effect of another value at a reload: "while packets flow"
};
std::vector<KnownKey> known_keys();

}  // namespace unecho::config
