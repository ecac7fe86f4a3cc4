// SPDX-License-Identifier: BSD-3-Clause
// unecho help [COMMAND], unecho version: what there is, and which build this is.
#include "options/help.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "commands/commands.h"
#include "options/examples.h"
#include "options/usage.h"
#include "options/version.h"
#include "terminal/print.h"

namespace unecho::app {
namespace {

CommandResult help(const CLI::App& program, const std::string& name) {
    if (name.empty()) {
        return print(help_text(program, nullptr));
    }
    if (!is_command(program, name)) {
        return fail(Errc::kConfig, unknown_command(program, name));
    }
    return print(help_text(program, program.get_subcommand(name)));
}

}  // namespace

std::string help_text(const CLI::App& program, const CLI::App* command) {
    const CLI::App& of = command == nullptr ? program : *command;
    const std::string name =
        command == nullptr ? program.get_name() : program.get_name() + " " + of.get_name();
    std::string text = of.get_formatter()->make_help(&of, name, CLI::AppFormatMode::Normal);
    text.erase(text.find_last_not_of('\n') + 1);
    return text + "\n" + examples_text(command == nullptr ? "" : of.get_name());
}

std::string short_help(const CLI::App& program) {
    std::string text = fmt::format("{}\n\nUsage: {} COMMAND [OPTIONS]\n\n",
                                   program.get_description(), program.get_name());
    for (const CLI::App* command : program.get_subcommands({})) {
        if (!command->get_group().empty()) {
            std::string name = command->get_name();
            name.resize(std::max<std::size_t>(name.size(), 9), ' ');
            text.append("  ").append(name).append(command->get_description()) += '\n';
        }
    }
    return text +
           "\nFor example: unecho pcap in.pcap -o out.pcap\n"
           "\"unecho help COMMAND\" prints the options and examples of a command.\n";
}

void add_help(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand("help", "Print the options and examples of a command");
    const auto name = std::make_shared<std::string>();
    command->add_option("COMMAND", *name, "Which one; without it, all commands");
    command->callback(
        [name, &app, &action] { action = [name, &app] { return help(app, *name); }; });
}

void add_version(CLI::App& app, Action& action) {
    CLI::App* command =
        app.add_subcommand("version", "Print the versions of unecho, DPDK and the kernel");
    command->callback([&action] { action = [] { return print(version_text() + "\n"); }; });
}

}  // namespace unecho::app
