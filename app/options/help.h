// SPDX-License-Identifier: BSD-3-Clause
// Help: the text of --help, `unecho help [COMMAND]`, and what `unecho` alone prints.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace unecho::app {

// Return the options of a command and its examples; those of the program without a command.
std::string help_text(const CLI::App& program, const CLI::App* command);

// Return help that fits on a screen, for those who type the program's name to see what it does.
std::string short_help(const CLI::App& program);

}  // namespace unecho::app
