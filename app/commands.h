// SPDX-License-Identifier: BSD-3-Clause
// The commands, one a file: arguments in, library call, answer out. Each adds itself to the command
// line and leaves what to do.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/result.h"

namespace unecho::app {

// What a command came to; main.cpp maps it to an exit status.
using Outcome = Status;
using Action = std::function<Outcome()>;

// Arguments behind "--", for DPDK.
using EalArgs = std::vector<std::string>;

void add_run(CLI::App& app, const EalArgs& eal_args, Action& action);
void add_check(CLI::App& app, Action& action);
void add_size(CLI::App& app, Action& action);

}  // namespace unecho::app
