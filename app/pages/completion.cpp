// SPDX-License-Identifier: BSD-3-Clause
#include "pages/completion.h"

#include <fmt/core.h>

namespace unecho::app {
namespace {

// bash splits "--key=flow" into three words, with "=" as one of its own. If there is no suggestion,
// as for unknown values, bash offers files (-o default).
constexpr const char* kHead =
    R"(# bash completion for unecho                              -*- shell-script -*-
# Made from the command line of unecho.

_unecho() {
    local current=${COMP_WORDS[COMP_CWORD]} at=$((COMP_CWORD - 1)) command= i
    COMPREPLY=()
    if [[ $current == "=" ]]; then
        current=
    elif [[ ${COMP_WORDS[at]} == "=" ]]; then
        at=$((at - 1))
    fi
    local before=${COMP_WORDS[at]}
    for ((i = 1; i < COMP_CWORD; ++i)); do
        if [[ ${COMP_WORDS[i]} == -- ]]; then
            return
        elif [[ -z $command && ${COMP_WORDS[i]} != -* ]]; then
            command=${COMP_WORDS[i]}
        fi
    done

    local options= values= list= host= suffix
    local -a files=()
)";

constexpr const char* kTail = R"(
    if [[ $current == -* && -n $options ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
        return
    fi
    if [[ -n $host ]]; then
        values=$("${COMP_WORDS[0]}" __complete "$host" 2>/dev/null) || :
        compopt +o default 2>/dev/null || :
    fi
    if [[ -n $list && -n $values ]]; then
        compopt -o nospace 2>/dev/null || :
        local before=
        [[ $current != *,* ]] || before=${current%,*},
        mapfile -t COMPREPLY < <(compgen -P "$before" -W "$values" -- "${current##*,}")
    elif [[ -n $values ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
    elif [[ ${#files[@]} -gt 0 ]]; then
        compopt -o filenames 2>/dev/null || :
        mapfile -t COMPREPLY < <(
            for suffix in "${files[@]}"; do
                compgen -f -X "!$suffix" -- "$current" || :
            done
            [[ ${files[0]} == "*" ]] || compgen -d -- "$current" || :
        )
    fi
} && complete -o default -F _unecho unecho
)";

std::string names_of(const CommandPage& command) {
    std::string out;
    for (const OptionPage& option : command.options) {
        for (const std::string& name : option.names) {
            if (!option.positional) {
                out += (out.empty() ? "" : " ") + name;
            }
        }
    }
    return out;
}

std::string words_of(const std::vector<std::string>& words) {
    std::string out;
    for (const std::string& word : words) {
        out += (out.empty() ? "" : " ") + word;
    }
    return out;
}

// Return the suggestions for a value; empty if none are known.
std::string offer_of(const OptionPage& option) {
    const std::string list = option.is_list ? " list=1" : "";
    if (!option.values_of_host.empty()) {
        return fmt::format("host={}{}", option.values_of_host, list);
    }
    if (!option.choices.empty()) {
        return fmt::format("values='{}'{}", words_of(option.choices), list);
    }
    if (!option.takes_file) {
        return "";
    }
    std::string patterns;
    for (const std::string& suffix : option.suffixes) {
        patterns += (patterns.empty() ? "'*." : " '*.") + suffix + "*'";
    }
    return fmt::format("files=({})", patterns.empty() ? "'*'" : patterns);
}

std::string options_with_value(const CommandPage& command) {
    std::string out;
    for (const OptionPage& option : command.options) {
        if (option.positional || !option.takes_value) {
            continue;
        }
        std::string pattern;
        for (const std::string& name : option.names) {
            pattern += (pattern.empty() ? "" : " | ") + name;
        }
        const std::string offer = offer_of(option);
        out += fmt::format("                {}) options= {}{};;\n", pattern, offer,
                           offer.empty() ? "" : " ");
    }
    return out;
}

// The first positional stands for all: if there are several, all are captures.
std::string case_of(const CommandPage& command) {
    std::string positional;
    for (const OptionPage& option : command.options) {
        if (option.positional && positional.empty()) {
            positional = offer_of(option);
        }
    }
    std::string out =
        fmt::format("        {})\n            options='{}'\n", command.name, names_of(command));
    out += "            case $before in\n" + options_with_value(command);
    out += "                *) " + (positional.empty() ? "values=$options" : positional) + " ;;\n";
    return out + "            esac\n            ;;\n";
}

}  // namespace

std::string bash_completion(const CommandPage& program, const std::vector<CommandPage>& commands) {
    std::vector<std::string> names;
    for (const CommandPage& command : commands) {
        names.push_back(command.name);
    }
    std::string out = kHead;
    out += "    case $command in\n";
    out += fmt::format(
        "        '')\n"
        "            options='{}'\n"
        "            [[ $current == -* ]] || values='{}'\n"
        "            ;;\n",
        names_of(program), words_of(names));
    for (const CommandPage& command : commands) {
        out += case_of(command);
    }
    return fmt::format("{}    esac\n{}", out, kTail);
}

}  // namespace unecho::app
