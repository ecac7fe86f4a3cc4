// SPDX-License-Identifier: BSD-3-Clause
// The answer of a command, whole or with an error: a full disk, a reader that left; a pipe that
// somebody made non-blocking is waited for.
#pragma once

#include <functional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace unecho::app {

// path: "-" is standard output. Errors as of capture::Output.
Status write_file(const std::string& path, const std::string& text);

// To standard output.
Status print(const std::string& text);

// The document that make() builds. With memory aside: nlohmann's is not to be freed half made, or
// where there is no memory.
Status print_json(const std::function<nlohmann::ordered_json()>& make);

}  // namespace unecho::app
