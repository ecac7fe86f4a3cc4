// SPDX-License-Identifier: BSD-3-Clause
// app: the command line, one command per file: arguments in, one library call, the answer out.
//
// Each command has an add_<command>(), which declares its options and sets the action to run.
// --help, the man page and the completions are made from these declarations (pages/). A new command
// is a file, a line here and a line in command_line.cpp, and an example in examples.cpp. Option
// names are in base/option_names.h only. A value that is a file has type_name("FILE") (positionals
// also IN, OUT, CONFIG); choices are given with CLI::IsMember or as type_name("a|b|c").
//
// May use base, filters/hash, captures, dedup/engines, config, appliance, monitor and CLI11. May
// not hold logic that a test of lib/ cannot reach.
//
// Next: main.cpp (exit statuses, errors), run.cpp (the appliance), pcap.cpp, analyze.cpp,
// arguments.h.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/result.h"

namespace unecho::app {

// The result of a command; main.cpp maps it to an exit status. A command may set a status of its
// own beside those of exit_status.h.
class CommandResult : public Status {
  public:
    CommandResult(Status status) : Status(std::move(status)) {}
    CommandResult(tl::unexpected<Error> error) : Status(std::move(error)) {}
    static CommandResult with_status(int exit_status) {
        CommandResult out{Status{}};
        out.exit_status_ = exit_status;
        return out;
    }

    [[nodiscard]] int exit_status() const { return exit_status_; }  // on success

  private:
    int exit_status_ = 0;
};
using Action = std::function<CommandResult()>;

// The arguments after "--", for DPDK.
using EalArgs = std::vector<std::string>;

void add_run(CLI::App& app, const EalArgs& eal_args, Action& action);
void add_check(CLI::App& app, Action& action);
void add_size(CLI::App& app, Action& action);
void add_pcap(CLI::App& app, Action& action);
void add_capture(CLI::App& app, Action& action);
void add_extcap(CLI::App& app, Action& action);
void add_analyze(CLI::App& app, Action& action);
void add_compare(CLI::App& app, Action& action);
void add_serve(CLI::App& app, Action& action);
void add_reload(CLI::App& app, Action& action);
void add_status(CLI::App& app, Action& action);
void add_init(CLI::App& app, Action& action);
void add_help(CLI::App& app, Action& action);
void add_version(CLI::App& app, Action& action);
void add_complete(CLI::App& app, Action& action);

}  // namespace unecho::app
