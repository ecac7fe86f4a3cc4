// SPDX-License-Identifier: BSD-3-Clause
#include <string_view>

#include "completion.h"

namespace unecho::app {
namespace {

constexpr const char* kFishHead = R"(# fish completion for unecho
# Made from the command line of unecho.

# The command that is written already; fails where there is none.
function __unecho_command
    for word in (commandline -opc)[2..-1]
        if not string match -q -- '-*' $word
            echo $word
            return 0
        end
    end
    return 1
end

complete -c unecho -f
)";

std::string in_quotes(std::string_view text) {
    std::string out = "'";
    for (const char c : text) {
        out += c == '\'' || c == '\\' ? "\\" : "";
        out += c;
    }
    return out + "'";
}

// " -x": the option takes a value that is no file.
std::string fish_value(const OptionPage& option) {
    if (!option.takes_value) {
        return "";
    }
    if (option.takes_file) {
        return " -r -F";
    }
    std::string choices;
    for (const std::string& choice : option.choices) {
        choices += (choices.empty() ? "" : " ") + choice;
    }
    return choices.empty() ? " -x" : " -x -a " + in_quotes(choices);
}

std::string lines_of(const CommandPage& command, const std::string& condition) {
    std::string out;
    for (const OptionPage& option : command.options) {
        const std::string value = fish_value(option);
        if (option.positional) {
            out += value.ends_with("-F") ? condition + " -F\n" : "";
            continue;
        }
        std::string names;
        for (const std::string& name : option.names) {
            names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
        }
        out += condition + names;
        out += value + " -d " + in_quotes(option.description) + "\n";
    }
    return out;
}

}  // namespace

std::string fish_completion(const CommandPage& program, const std::vector<CommandPage>& commands) {
    const std::string before = "complete -c unecho -n 'not __unecho_command >/dev/null'";
    std::string out = kFishHead + lines_of(program, before);
    for (const CommandPage& command : commands) {
        out += before + " -a " + command.name + " -d " + in_quotes(command.description) + "\n";
    }
    for (const CommandPage& command : commands) {
        out += lines_of(
            command, "complete -c unecho -n 'contains -- " + command.name + " (__unecho_command)'");
    }
    return out;
}

}  // namespace unecho::app
