// SPDX-License-Identifier: BSD-3-Clause
// The answer of a command, whole or with an error: a full disk, a reader that left; a pipe that
// somebody made non-blocking is waited for.
#pragma once

#include <string>

#include "base/result.h"

namespace unecho::app {

// path: "-" is standard output. Errors as of capture::Output.
Status write_file(const std::string& path, const std::string& text);

// To standard output.
Status print(const std::string& text);

}  // namespace unecho::app
