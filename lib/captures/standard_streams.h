// SPDX-License-Identifier: BSD-3-Clause
// "-" stands for standard input where a capture is read, and for standard output where something is
// written. Users read the name of the stream instead.
#pragma once

#include <string>

#include "base/utf8.h"

namespace unecho::capture {

inline constexpr const char* kStandardStream = "-";

// Return the path of an input for display. File names are foreign input: whoever shows it must
// still escape it for text or markup.
[[nodiscard]] inline std::string input_display_name(const std::string& path) {
    return path == kStandardStream ? "standard input" : path;
}

// Return the name of an input or output for messages, in printable characters.
[[nodiscard]] inline std::string printable_input_name(const std::string& path) {
    return escaped(input_display_name(path));
}
[[nodiscard]] inline std::string printable_output_name(const std::string& path) {
    return path == kStandardStream ? "standard output" : escaped(path);
}

}  // namespace unecho::capture
