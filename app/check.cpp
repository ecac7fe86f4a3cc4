// SPDX-License-Identifier: BSD-3-Clause
// unecho check CONFIG: validate a configuration and print the plan, without touching any device.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "appliance/plan/devices.h"
#include "appliance/plan/flow_sharding.h"
#include "appliance/plan/plan.h"
#include "base/option_names.h"
#include "commands.h"
#include "load_config.h"
#include "print.h"

namespace unecho::app {
namespace {

CommandResult check(const std::string& path, const std::string& spread) {
    const auto config = load_config(path);
    UNECHO_TRY(config);
    appliance::Machine machine = appliance::Machine::detect();
    machine.is_other_host = true;
    const auto plan =
        appliance::make_plan(*config, machine, appliance::assumed_device_info(*config));
    if (!plan) {
        return tl::unexpected(config::as_error(plan.error(), path));
    }
    std::string warnings;
    const auto* const named =
        std::find(appliance::kSpreadNames.begin(), appliance::kSpreadNames.end(), spread);
    if (named != appliance::kSpreadNames.end()) {
        const auto by = static_cast<appliance::Spread>(named - appliance::kSpreadNames.begin());
        for (const std::string& warning : appliance::spread_warnings(*config, by)) {
            warnings += "warning: " + warning + "\n";
        }
    }
    return print_text(path + " is valid. What it would do:\n\n" + appliance::to_text(*plan) +
                      warnings);
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand("check", "Validate a configuration and print the plan");
    const auto path = std::make_shared<std::string>();
    command->add_option("CONFIG", *path, "TOML file")->required();
    const auto spread = std::make_shared<std::string>();
    command
        ->add_option(option::kSpreadBy, *spread,
                     "Warn of what a switch does that spreads packets over several appliances by "
                     "this hash")
        ->check(CLI::IsMember(std::vector<std::string>(appliance::kSpreadNames.begin(),
                                                       appliance::kSpreadNames.end())));
    command->callback(
        [path, spread, &action] { action = [path, spread] { return check(*path, *spread); }; });
}

}  // namespace unecho::app
