// SPDX-License-Identifier: BSD-3-Clause
#include "usage.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/join_text.h"
#include "base/utf8.h"
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
    if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr) {
        return error.what();
    }
    const auto chosen = app.get_subcommands();
    const CLI::App& command = chosen.empty() ? app : *chosen.front();
    for (const std::string& argument : app.remaining(true)) {
        if (argument.size() > 1 && argument.starts_with('-')) {
            const std::string name = name_in(argument);
            return escaped(name) + " is no option" + hint_for(command, name);
        }
    }
    return error.what();
}

std::string unknown_command(const CLI::App& app, const std::string& name) {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands({})) {
        names.push_back(command->get_name());
    }
    return "unknown command \"" + escaped(name) + "\"" + meant(name, names) +
           "; allowed: " + join_text(names);
}

}  // namespace unecho::app
