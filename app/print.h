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

// The same of lines for people, in which names may be anybody's: escaped (base/utf8.h).
Status print_text(const std::string& text);

// The document that make() builds, in ASCII: bytes that are no UTF-8 become U+FFFD. With memory
// aside: nlohmann's is not to be freed half made, or where there is no memory.
Status print_json(const std::function<nlohmann::ordered_json()>& make);

}  // namespace unecho::app
