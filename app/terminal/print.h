// SPDX-License-Identifier: BSD-3-Clause
// Output of a command's answer: complete, or an error such as a full disk or a closed pipe. A
// non-blocking pipe is waited for.
#pragma once

#include <functional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace unecho::app {

// path: "-" is standard output. Errors as in capture::Output.
Status write_file(const std::string& path, const std::string& text);

Status print(const std::string& text);

// Print lines for people; names in them may be foreign input, so they are escaped (base/utf8.h).
Status print_text(const std::string& text);

// Print the document that make() builds, in ASCII; invalid UTF-8 becomes U+FFFD. A memory reserve
// is held meanwhile, because freeing documents of nlohmann/json may allocate.
Status print_json(const std::function<nlohmann::ordered_json()>& make);

}  // namespace unecho::app
