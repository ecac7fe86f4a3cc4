// SPDX-License-Identifier: BSD-3-Clause
#include "options/usage.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "base/join_text.h"
#include "base/utf8.h"
#include "config/devices/device.h"
#include "config/message_text.h"

namespace unecho::app {
namespace {

struct Habit {
    std::string_view command;
    std::string_view option;
    const char* hint;
};

// Options of tcpdump and editcap that have other names here.
constexpr std::array kHabits{
    Habit{"unecho", "-V", "--version says the version"},
    Habit{"unecho", "-v", "--version says the version"},
    Habit{"unecho", "-?", "--help says what there is"},
    Habit{"pcap", "-w", "the output is -o FILE (tcpdump -w), the window --window W (editcap -w)"},
    Habit{"pcap", "-r", "inputs are named without an option: unecho pcap IN... -o OUT"},
    Habit{"pcap", "-d", "as editcap -d: --editcap --count 5"},
    Habit{"pcap", "-D", "as editcap -D N: --editcap --count N"},
    Habit{"analyze", "-r", "inputs are named without an option: unecho analyze IN..."},
    Habit{"analyze", "-w", "unecho pcap IN... -o FILE writes captures"},
    Habit{"analyze", "-o", "--html FILE writes the report, unecho pcap IN... -o FILE a capture"},
};

// Return "--window" for "--window=5ms", "-w" for "-wout.pcap".
std::string name_in(const std::string& argument) {
    return argument.starts_with("--") ? argument.substr(0, argument.find('='))
                                      : argument.substr(0, 2);
}

std::vector<std::string> names_of_options(const CLI::App& command) {
    std::vector<std::string> names;
    for (const CLI::Option* option : command.get_options()) {
        for (const std::string& name : option->get_lnames()) {
            names.push_back("--" + name);
        }
    }
    return names;
}

std::string meant(const std::string& name, const std::vector<std::string>& known) {
    const std::vector<std::string_view> views(known.begin(), known.end());
    return config::suggestion(name, views);
}

// Return the hint for an option of DPDK that stands before "--".
std::string hint_on_eal(const std::string& argument) {
    const config::EalOption option = config::eal_option(argument);
    if (!option.known) {
        return "";
    }
    return option.instead.empty()
               ? "; it is an option of DPDK, which belongs behind --: unecho run CONFIG -- " +
                     argument
               : "; DPDK's option of this name is made from the configuration: " +
                     std::string(option.instead);
}

std::string hint_for(const CLI::App& command, const std::string& name) {
    for (const Habit& habit : kHabits) {
        if (habit.command == command.get_name() && habit.option == name) {
            return std::string("; ") + habit.hint;
        }
    }
    return name.starts_with("--") ? meant(name, names_of_options(command)) : std::string();
}

}  // namespace

std::string usage_problem(const CLI::App& app, const CLI::ParseError& error) {
    // CLI11 first says what is missing, even if the reason is a misspelt option.
    if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr &&
        dynamic_cast<const CLI::RequiredError*>(&error) == nullptr) {
        return error.what();
    }
    const auto chosen = app.get_subcommands();
    const CLI::App& command = chosen.empty() ? app : *chosen.front();
    for (const std::string& argument : app.remaining(true)) {
        if (argument.size() > 1 && argument.starts_with('-')) {
            const std::string name = name_in(argument);
            const std::string eal = command.get_name() == "run" ? hint_on_eal(argument) : "";
            return fmt::format("{} is no option{}", escaped(name),
                               eal.empty() ? hint_for(command, name) : escaped(eal));
        }
    }
    return chosen.empty() ? "a command is needed" : error.what();
}

bool is_command(const CLI::App& app, const std::string& name) {
    const auto commands = app.get_subcommands({});
    return std::any_of(commands.begin(), commands.end(),
                       [&](const CLI::App* command) { return command->get_name() == name; });
}

std::string unknown_command(const CLI::App& app, const std::string& name) {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands({})) {
        if (command->get_group().empty()) {
            continue;
        }
        names.push_back(command->get_name());
    }
    return fmt::format("unknown command \"{}\"{}; allowed: {}", escaped(name), meant(name, names),
                       join_text(names));
}

}  // namespace unecho::app
