// SPDX-License-Identifier: BSD-3-Clause
// The command line: all commands with their options. main.cpp, the man page and the completions use
// it, so a new command changes none of them.
#pragma once

#include <memory>

#include <CLI/CLI.hpp>

#include "commands/commands.h"

namespace unecho::app {

// Keep references to eal_args and action. Parsing sets the action.
std::unique_ptr<CLI::App> make_command_line(const EalArgs& eal_args, Action& action);

}  // namespace unecho::app
