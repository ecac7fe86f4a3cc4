// SPDX-License-Identifier: BSD-3-Clause
// "-", which stands for standard input where a capture is read and for standard output where
// something is written, and what people read in its place.
#pragma once

#include <string>

#include "base/utf8.h"

namespace unecho::capture {

inline constexpr const char* kStandardStream = "-";

// The path of an input as people read it. Names of files are bytes that somebody else chose: who
// shows it still has to make it printable, or markup.
[[nodiscard]] inline std::string input_display_name(const std::string& path) {
    return path == kStandardStream ? "standard input" : path;
}

// The same of inputs and of outputs for messages, printable.
[[nodiscard]] inline std::string printable_input_name(const std::string& path) {
    return escaped(input_display_name(path));
}
[[nodiscard]] inline std::string printable_output_name(const std::string& path) {
    return path == kStandardStream ? "standard output" : escaped(path);
}

}  // namespace unecho::capture
