// SPDX-License-Identifier: BSD-3-Clause
#include <string_view>

#include <fmt/core.h>

#include "pages/completion.h"

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

# Files whose names have one of these suffixes, and folders.
function __unecho_files
    set -l word (commandline -ct)
    for file in $word*
        if test -d $file
            echo $file/
        else if string match -qr -- '\.('(string join '|' $argv)')' $file
            echo $file
        end
    end
end

# One more value of a list with commas.
function __unecho_list
    set -l before (string match -r -- '^.*,' (commandline -ct))
    for offer in $argv
        echo "$before$offer"
    end
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
    const auto words = [](const std::vector<std::string>& list) {
        std::string text;
        for (const std::string& word : list) {
            text += (text.empty() ? "" : " ") + word;
        }
        return text;
    };
    std::string offers = words(option.choices);
    if (!option.values_of_host.empty()) {
        offers = fmt::format("(unecho __complete {} 2>/dev/null)", option.values_of_host);
    } else if (!option.suffixes.empty()) {
        offers = fmt::format("(__unecho_files {})", words(option.suffixes));
    } else if (option.takes_file) {
        return " -r -F";
    }
    if (option.is_list) {
        offers = fmt::format("(__unecho_list {})", offers);
    }
    return offers.empty() ? " -x" : " -x -a " + in_quotes(offers);
}

std::string lines_of(const CommandPage& command, const std::string& condition) {
    std::string out;
    for (const OptionPage& option : command.options) {
        const std::string value = fish_value(option);
        if (option.positional) {
            if (value.ends_with("-F")) {
                out += condition + " -F\n";
            } else if (value.find(" -a ") != std::string::npos) {
                out += condition + value.substr(value.find(" -a ")) + "\n";
            }
            continue;
        }
        std::string names;
        for (const std::string& name : option.names) {
            names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
        }
        out += condition + names;
        out += fmt::format("{} -d {}\n", value, in_quotes(option.description));
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
