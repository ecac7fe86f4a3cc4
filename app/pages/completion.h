// SPDX-License-Identifier: BSD-3-Clause
// Shell completions: commands, their options, known values, and files. The one for bash needs only
// bash 4, and offers options if a command takes nothing else.
#pragma once

#include <string>
#include <vector>

#include "pages/commands_of.h"

namespace unecho::app {

std::string bash_completion(const CommandPage& program, const std::vector<CommandPage>& commands);
std::string zsh_completion(const CommandPage& program, const std::vector<CommandPage>& commands);
std::string fish_completion(const CommandPage& program, const std::vector<CommandPage>& commands);

}  // namespace unecho::app
