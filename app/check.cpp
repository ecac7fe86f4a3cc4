// SPDX-License-Identifier: BSD-3-Clause
// unecho check CONFIG: validates, prints the plan. Starts nothing and touches no device.
#include <memory>

#include "commands.h"
#include "control/devices.h"
#include "control/plan.h"
#include "load.h"
#include "print.h"

namespace unecho::app {
namespace {

Outcome check(const std::string& path) {
    const auto config = load(path);
    if (!config) {
        return tl::unexpected(config.error());
    }
    control::Machine machine = control::Machine::detect();
    machine.may_differ = true;
    const auto plan = control::make_plan(*config, machine, control::assumed_facts(*config));
    if (!plan) {
        return tl::unexpected(config::as_error(plan.error(), path));
    }
    return print(path + " is valid. What it would do:\n\n" + control::to_text(*plan));
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand("check", "Validate a configuration and print the plan");
    const auto path = std::make_shared<std::string>();
    command->add_option("CONFIG", *path, "TOML file")->required();
    command->callback([path, &action] { action = [path] { return check(*path); }; });
}

}  // namespace unecho::app
