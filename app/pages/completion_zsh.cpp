// SPDX-License-Identifier: BSD-3-Clause
#include <string_view>

#include <fmt/core.h>

#include "pages/completion.h"

namespace unecho::app {
namespace {

constexpr const char* kZshHead = R"zsh(#compdef unecho
# Made from the command line of unecho.

# Offer the values of this host.
_unecho_of_host() {
    local -a offers=(${(f)"$(command unecho __complete $1 2>/dev/null)"})
    compadd -- $offers
}

# Offer one more value of a list with commas.
_unecho_list() {
    compset -P '*,'
    compadd -q -S , -- "$@"
}

_unecho_list_of_host() {
    _unecho_list ${(f)"$(command unecho __complete $1 2>/dev/null)"}
}

_unecho() {
    local curcontext=$curcontext state line
    typeset -A opt_args
    local -a commands=(
)zsh";

// Escape these characters with a backslash, and place quotes outside of the quoted word.
std::string escaped(std::string_view text, std::string_view special) {
    std::string out;
    for (const char c : text) {
        if (c == '\'') {
            out += "'\\''";
            continue;
        }
        out += c == '\\' || special.find(c) != std::string_view::npos ? "\\" : "";
        out += c;
    }
    return out;
}

// Return ":KEY:(packet flow)"; an unknown value is named but not completed.
std::string zsh_value(const OptionPage& option) {
    if (!option.takes_value) {
        return "";
    }
    std::string action = " ";
    if (!option.values_of_host.empty()) {
        action = fmt::format("{{ _unecho_{}of_host {} }}", option.is_list ? "list_" : "",
                             option.values_of_host);
    } else if (option.is_list) {
        action = "{ _unecho_list";
        for (const std::string& choice : option.choices) {
            action += " " + choice;
        }
        action += " }";
    } else if (!option.suffixes.empty()) {
        std::string suffixes;
        for (const std::string& suffix : option.suffixes) {
            suffixes += (suffixes.empty() ? "" : "|") + suffix;
        }
        action = fmt::format("_files -g \"*.({})*\"", suffixes);
    } else if (option.takes_file) {
        action = "_files";
    } else if (!option.choices.empty()) {
        action = "(";
        for (const std::string& choice : option.choices) {
            action += (action.size() == 1 ? "" : " ") + choice;
        }
        action += ")";
    }
    const bool one = !option.choices.empty() && !option.is_list;
    return ":" + escaped(one ? "one of" : option.value, ":") + ":" + action;
}

// Return one specification per name: each excludes the option's other names.
std::string specification_of(const OptionPage& option) {
    if (option.positional) {
        return fmt::format("        '{}{}'\n", option.repeated ? "*" : "", zsh_value(option));
    }
    std::string all;
    for (const std::string& name : option.names) {
        all += (all.empty() ? "" : " ") + name;
    }
    std::string out;
    for (const std::string& name : option.names) {
        const bool is_long = name.starts_with("--");
        out += fmt::format("        '{}{}", option.repeated ? "*" : "(" + all + ")", name);
        out += option.takes_value ? (is_long ? "=" : "+") : "";
        out += "[" + escaped(option.description, "[]") + "]" + zsh_value(option) + "'\n";
    }
    return out;
}

std::string specifications_of(const CommandPage& command) {
    std::string out;
    for (const OptionPage& option : command.options) {
        out += specification_of(option);
    }
    return out;
}

}  // namespace

std::string zsh_completion(const CommandPage& program, const std::vector<CommandPage>& commands) {
    std::string out = kZshHead;
    for (const CommandPage& command : commands) {
        out += fmt::format("        '{}:{}'\n", command.name, escaped(command.description, ":"));
    }
    out += fmt::format("    )\n    local -a options=(\n{}    )\n", specifications_of(program));
    out +=
        "    _arguments -C -S -A '-*' $options '1:command:->command' '*::argument:->argument' &&\n";
    out += "        return\n";
    out += "    if [[ $state == command ]]; then\n";
    out += "        _describe -t commands command commands\n        return\n    fi\n";
    out += "    case $line[1] in\n";
    for (const CommandPage& command : commands) {
        out += fmt::format("    {}) options=(\n{}        ) ;;\n", command.name,
                           specifications_of(command));
    }
    out += "    *) return 1 ;;\n    esac\n    _arguments -S $options\n}\n\n";
    return out + "_unecho \"$@\"\n";
}

}  // namespace unecho::app
