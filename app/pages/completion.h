// SPDX-License-Identifier: BSD-3-Clause
// The completions: commands, the options of each, their values where they are known, and files.
// That for bash needs nothing but bash 4, and offers options where a command takes nothing else.
#pragma once

#include <string>
#include <vector>

#include "commands_of.h"

namespace unecho::app {

std::string bash_completion(const CommandPage& program, const std::vector<CommandPage>& commands);
std::string zsh_completion(const CommandPage& program, const std::vector<CommandPage>& commands);
std::string fish_completion(const CommandPage& program, const std::vector<CommandPage>& commands);

}  // namespace unecho::app
