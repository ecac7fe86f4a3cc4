// SPDX-License-Identifier: BSD-3-Clause
// Standard output as a terminal, for a view that is redrawn.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace unecho::app {

struct TerminalSize {
    std::size_t columns = 80;
    std::size_t lines = 24;
};

[[nodiscard]] bool is_terminal();
// Return true on a terminal with TERM other than "dumb" and without NO_COLOR.
[[nodiscard]] bool has_colours();
[[nodiscard]] TerminalSize terminal_size();

// The terminal's alternate screen without a cursor. The previous content returns when this object
// ends, and while the process is suspended (Ctrl-Z).
class Screen {
  public:
    Screen();
    ~Screen();
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;

    // Replace the shown text; cut to the lines that fit.
    Status show(const std::string& text);
};

}  // namespace unecho::app
