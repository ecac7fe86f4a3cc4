// SPDX-License-Identifier: BSD-3-Clause
// The commands, one a file: arguments in, library call, answer out. Each adds itself to the command
// line and leaves what to do. From there --help, the man page and the completion are made (pages/):
// a value that is a file has type_name("FILE") (a positional may have it by its name: IN, OUT,
// CONFIG), words to choose from are given with CLI::IsMember or as type_name("a|b|c").
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/result.h"

namespace unecho::app {

// What a command came to; main.cpp maps it to an exit status. Who has statuses of its own, beside
// those of exit_status.h, gives the number.
class CommandResult : public Status {
  public:
    CommandResult(Status status) : Status(std::move(status)) {}
    CommandResult(tl::unexpected<Error> error) : Status(std::move(error)) {}
    static CommandResult with_status(int exit_status) {
        CommandResult out{Status{}};
        out.exit_status_ = exit_status;
        return out;
    }

    [[nodiscard]] int exit_status() const { return exit_status_; }  // of success

  private:
    int exit_status_ = 0;
};
using Action = std::function<CommandResult()>;

// Arguments behind "--", for DPDK.
using EalArgs = std::vector<std::string>;

void add_run(CLI::App& app, const EalArgs& eal_args, Action& action);
void add_check(CLI::App& app, Action& action);
void add_size(CLI::App& app, Action& action);
void add_pcap(CLI::App& app, Action& action);
void add_capture(CLI::App& app, Action& action);
void add_extcap(CLI::App& app, Action& action);
void add_analyze(CLI::App& app, Action& action);
void add_serve(CLI::App& app, Action& action);
void add_reload(CLI::App& app, Action& action);
void add_status(CLI::App& app, Action& action);

}  // namespace unecho::app
