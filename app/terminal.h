// SPDX-License-Identifier: BSD-3-Clause
// Standard output as a terminal, for a view that is drawn again and again.
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
// With colours: a terminal, no NO_COLOR in the environment, TERM not "dumb".
[[nodiscard]] bool has_colours();
[[nodiscard]] TerminalSize terminal_size();

// The other screen of the terminal, without a cursor; what was there before comes back with its
// end, and while the process is suspended (Ctrl-Z).
class Screen {
  public:
    Screen();
    ~Screen();
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;

    // In the place of what is shown; the first lines of it, if they are more than fit.
    Status show(const std::string& text);
};

}  // namespace unecho::app
