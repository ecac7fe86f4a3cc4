// SPDX-License-Identifier: BSD-3-Clause
// unecho __complete WHAT: values of this host that shell completions offer, one a line. Hidden:
// only the completions call it (pages/completion.h).
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "captures/live/live_interfaces.h"
#include "commands/commands.h"
#include "monitor/client/discovery.h"
#include "monitor/client/status_collector.h"
#include "terminal/print.h"

namespace unecho::app {
namespace {

constexpr const char* kInterfaces = "interfaces";
constexpr const char* kAppliances = "appliances";
constexpr const char* kIncidents = "incidents";  // rules that found something

// A name that a shell would not take as one word is left out.
void add(std::string& lines, const std::string& name) {
    constexpr const char* kWord =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.@:-";
    if (!name.empty() && name.find_first_not_of(kWord) == std::string::npos) {
        lines += name + "\n";
    }
}

CommandResult complete(const std::string& what) {
    std::string lines;
    if (what == kInterfaces) {
        const auto found = capture::live_interfaces();
        for (const capture::LiveInterface& one :
             found.value_or(std::vector<capture::LiveInterface>())) {
            if (one.network) {
                add(lines, one.name);
            }
        }
    } else if (what == kIncidents) {
        const std::atomic<bool> stop = false;
        monitor::StatusCollector collector(monitor::runtime_folders(), "", stop);
        collector.look();
        for (const std::string& rule : collector.incidents()) {
            add(lines, rule);
        }
    } else {
        for (const monitor::TelemetrySocket& one :
             monitor::find_telemetry_sockets(monitor::runtime_folders()).found) {
            add(lines, one.name);
        }
    }
    return print(lines);
}

}  // namespace

void add_complete(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand("__complete", "Print values for shell completions");
    const auto what = std::make_shared<std::string>();
    command->add_option("WHAT", *what)
        ->required()
        ->check(CLI::IsMember(std::vector<std::string>{kInterfaces, kAppliances, kIncidents}));
    command->group("");
    command->callback([what, &action] { action = [what] { return complete(*what); }; });
}

}  // namespace unecho::app
