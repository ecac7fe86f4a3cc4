// SPDX-License-Identifier: BSD-3-Clause
// Problems of a configuration, found in the file (load.h) or in a plan made of it.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace unecho::config {

// One problem: its place, what is wrong, and what is allowed instead.
struct Problem {
    int line = 0;         // from 1; 0: no line can be named (a missing file)
    std::string key;      // "filter[0].window", counted from 0 as in the file
    std::string message;  // "\"50\" is not a duration; allowed: ..."
};

// "configs/taps.toml:12: filter[0].window: ...", each with an end of line.
std::string to_text(const std::vector<Problem>& problems, const std::string& path);

// Errc::kConfig: the same lines, with an end of line between two.
Error as_error(const std::vector<Problem>& problems, const std::string& path);

}  // namespace unecho::config
