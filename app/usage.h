// SPDX-License-Identifier: BSD-3-Clause
// What to say of a command line that is not understood: the option that was meant, also by those
// who know other tools by heart.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace unecho::app {

// One line, without the program's name and the end.
std::string usage_problem(const CLI::App& app, const CLI::ParseError& error);

std::string unknown_command(const CLI::App& app, const std::string& name);

}  // namespace unecho::app
