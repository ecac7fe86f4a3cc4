// SPDX-License-Identifier: BSD-3-Clause
// All commands with their options. Besides main.cpp the man page and the completion are made from
// it, so they need no change for a new command.
#pragma once

#include <memory>

#include <CLI/CLI.hpp>

#include "commands.h"

namespace unecho::app {

// eal_args and action are kept by reference. Parsing sets the action.
std::unique_ptr<CLI::App> make_command_line(const EalArgs& eal_args, Action& action);

}  // namespace unecho::app
