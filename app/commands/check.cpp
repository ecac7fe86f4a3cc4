// SPDX-License-Identifier: BSD-3-Clause
// unecho check CONFIG: validate a configuration, say what this host lacks for it, and print the
// plan, without touching any device.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "appliance/plan/devices.h"
#include "appliance/plan/flow_sharding.h"
#include "appliance/plan/host.h"
#include "appliance/plan/plan.h"
#include "base/humanize.h"
#include "base/option_names.h"
#include "commands/commands.h"
#include "monitor/client/discovery.h"
#include "monitor/client/telemetry_client.h"
#include "options/load_config.h"
#include "terminal/print.h"

namespace unecho::app {
namespace {

struct CheckOptions {
    std::string path;
    std::string spread;
    bool strict = false;
};

using Problems = std::vector<config::Problem>;

void add_spread_warnings(const config::Config& config, const std::string& spread, Problems& out) {
    const auto* const named =
        std::find(appliance::kSpreadNames.begin(), appliance::kSpreadNames.end(), spread);
    if (named == appliance::kSpreadNames.end()) {
        return;
    }
    const auto by = static_cast<appliance::Spread>(named - appliance::kSpreadNames.begin());
    for (std::string& warning : appliance::spread_warnings(config, by)) {
        out.push_back({0, option::kSpreadBy, std::move(warning)});
    }
}

struct Findings {
    Problems warnings;
    Problems notes;
};

// A killed appliance leaves its socket, at which nobody listens.
bool runs_here(const std::string& name) {
    const auto sockets = monitor::find_telemetry_sockets(monitor::runtime_folders()).found;
    return std::any_of(sockets.begin(), sockets.end(), [&](const monitor::TelemetrySocket& one) {
        if (one.name != name) {
            return false;
        }
        const auto client = monitor::TelemetryClient::connect(one.socket);
        return client || client.error().code != Errc::kNotFound;
    });
}

// Return what this host lacks for the plan, and what does not hold together with --spread-by.
Findings findings_of(const config::Config& config, const appliance::Plan& plan,
                     const CheckOptions& options) {
    Findings out{plan.missing_here, {}};
    appliance::Host host = appliance::Host::detect(config);
    host.runs = runs_here(config.run.name);
    for (appliance::HostProblem& found :
         appliance::host_problems(config, plan, host, config.eal.args)) {
        (found.is_note ? out.notes : out.warnings).push_back(std::move(found.problem));
    }
    add_spread_warnings(config, options.spread, out.warnings);
    return out;
}

std::string text_of(const Findings& findings, const std::string& path) {
    std::string text;
    for (const config::Problem& note : findings.notes) {
        text += "note: " + config::to_text({note}, path);
    }
    const Problems& warnings = findings.warnings;
    if (warnings.empty()) {
        return text + "this host: it has all that the plan needs\n";
    }
    for (const config::Problem& warning : warnings) {
        text += "warning: " + config::to_text({warning}, path);
    }
    return fmt::format("{}this host: {}; {} makes errors of them\n", text,
                       format_quantity(warnings.size(), "warning"), option::kStrict);
}

CommandResult check(const CheckOptions& options) {
    const auto config = load_config(options.path);
    UNECHO_TRY(config);
    appliance::Machine machine = appliance::Machine::detect();
    machine.is_other_host = true;
    const auto plan =
        appliance::make_plan(*config, machine, appliance::assumed_device_info(*config));
    if (!plan) {
        return tl::unexpected(config::as_error(plan.error(), options.path));
    }
    const Findings findings = findings_of(*config, *plan, options);
    if (options.strict && !findings.warnings.empty()) {
        return tl::unexpected(config::as_error(findings.warnings, options.path));
    }
    return print_text(fmt::format("{} is valid. What it would do:\n\n{}{}", options.path,
                                  appliance::to_text(*plan), text_of(findings, options.path)));
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand(
        "check", "Validate a configuration, compare it with this host, and print the plan");
    const auto options = std::make_shared<CheckOptions>();
    command->add_option("CONFIG", options->path, "TOML file")->required();
    command->add_flag(option::kStrict, options->strict,
                      "Fail if this host lacks what the plan needs; by default only warn, as the "
                      "file may be for another host");
    command
        ->add_option(option::kSpreadBy, options->spread,
                     "Warn of what a switch does that spreads packets over several appliances by "
                     "this hash")
        ->check(CLI::IsMember(std::vector<std::string>(appliance::kSpreadNames.begin(),
                                                       appliance::kSpreadNames.end())));
    command->callback([options, &action] { action = [options] { return check(*options); }; });
}

}  // namespace unecho::app
