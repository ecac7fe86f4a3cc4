// SPDX-License-Identifier: BSD-3-Clause
// The completion for bash: commands, the options of each, their values where they are known, and
// files. A command that takes nothing else offers its options. Needs nothing but bash 4.
#pragma once

#include <string>
#include <vector>

#include "commands_of.h"

namespace unecho::app {

std::string bash_completion(const CommandPage& program, const std::vector<CommandPage>& commands);

}  // namespace unecho::app
