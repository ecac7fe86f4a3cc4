// SPDX-License-Identifier: BSD-3-Clause
// Messages for a command line that cannot be parsed. They suggest the option that was meant, also
// to users of tcpdump and editcap.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace unecho::app {

// Return one line, without the program's name.
std::string usage_problem(const CLI::App& app, const CLI::ParseError& error);

// Return true for the commands that help lists.
bool is_command(const CLI::App& app, const std::string& name);

std::string unknown_command(const CLI::App& app, const std::string& name);

}  // namespace unecho::app
