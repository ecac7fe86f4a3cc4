// SPDX-License-Identifier: BSD-3-Clause
// unecho(1), in man(7).
#pragma once

#include <string>
#include <vector>

#include "commands_of.h"

namespace unecho::app {

// Its examples that the command line would not understand: each names a command and options.
std::vector<std::string> examples_not_understood(const std::vector<CommandPage>& commands);

// Of its examples, those that are understood.
std::string man_page(const CommandPage& program, const std::vector<CommandPage>& commands);

}  // namespace unecho::app
