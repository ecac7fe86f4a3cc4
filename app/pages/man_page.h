// SPDX-License-Identifier: BSD-3-Clause
// The man page unecho(1), in man(7).
#pragma once

#include <string>
#include <vector>

#include "pages/commands_of.h"

namespace unecho::app {

// Return the page's examples that the command line does not accept: each names a command and
// options.
std::vector<std::string> examples_not_understood(const std::vector<CommandPage>& commands);

// Return the page, with the examples that are accepted.
std::string man_page(const CommandPage& program, const std::vector<CommandPage>& commands);

}  // namespace unecho::app
