// SPDX-License-Identifier: BSD-3-Clause
// unecho(1), in man(7).
#pragma once

#include <string>
#include <vector>

#include "commands_of.h"

namespace unecho::app {

std::string man_page(const CommandPage& program, const std::vector<CommandPage>& commands);

}  // namespace unecho::app
