// SPDX-License-Identifier: BSD-3-Clause
#include "pages/commands_of.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "base/join_text.h"
#include "base/option_names.h"
#include "config/schema.h"

namespace unecho::app {
namespace {

// Names of values that are files, whole or as a part ("FILE", "IN_FILE").
constexpr std::array<std::string_view, 10> kFileNames{
    "FILE", "PATH", "DIR", "CONFIG", "IN", "OUT", "INPUT", "OUTPUT", "CAPTURE", "REPORT"};

// The name of a value tells what the values of an option, or of a positional, are.
struct Known {
    std::string_view value;
    const char* of_host;  // for OptionPage::values_of_host
    std::vector<std::string> suffixes;
    bool is_list = false;
};

const std::vector<Known>& known_values() {
    static const std::vector<Known> kKnown{
        {"IF", "interfaces", {}},  {"IF,IF", "interfaces", {}, true}, {"NAME", "appliances", {}},
        {"RULE", "incidents", {}}, {"CONFIG", "", {"toml"}},          {"IN", "", {"pcap", "cap"}},
    };
    return kKnown;
}

// Values of lists that the type of the value does not name.
std::vector<std::string> listed_values(const CLI::Option& option) {
    if (!option.check_lname(std::string(option::kTunnels).substr(2))) {
        return {};
    }
    std::vector<std::string> names{"all", "none"};
    names.insert(names.end(), config::kEncapsulationNames.begin(),
                 config::kEncapsulationNames.end());
    return names;
}

std::vector<std::string> split(const std::string& text, const std::string& separators) {
    std::vector<std::string> out(1);
    for (const char c : text) {
        if (separators.find(c) == std::string::npos) {
            out.back() += c;
        } else if (!out.back().empty()) {
            out.emplace_back();
        }
    }
    if (out.back().empty()) {
        out.pop_back();
    }
    return out;
}

bool names_a_file(const std::string& value) {
    const std::vector<std::string> words = split(value, " :_-[]().,<>|");
    return std::any_of(words.begin(), words.end(), [](const std::string& word) {
        return std::find(kFileNames.begin(), kFileNames.end(), word) != kFileNames.end();
    });
}

// Parse "TEXT:{a,b}", "TEXT:value in {x->1,y->2} OR {1,2}" (forms of CLI11) or "a|b".
std::vector<std::string> choices_of(const std::string& type) {
    std::string list;
    if (const std::size_t open = type.find('{'); open != std::string::npos) {
        list = type.substr(open + 1, type.find('}', open) - open - 1);
    } else if (type.find('|') != std::string::npos) {
        list = type;
    }
    std::vector<std::string> out;
    for (const std::string& item : split(list, ",| ")) {
        out.push_back(item.substr(0, item.find("->")));
    }
    return out;
}

OptionPage page_of(const CLI::Option& option) {
    OptionPage page;
    page.positional = option.nonpositional() ? false : option.get_positional();
    if (page.positional) {
        page.names.push_back(option.get_name(true));
    } else {
        for (const std::string& name : option.get_snames()) {
            page.names.push_back("-" + name);
        }
        for (const std::string& name : option.get_lnames()) {
            page.names.push_back("--" + name);
        }
    }
    page.takes_value = option.get_items_expected_max() != 0;
    page.description = option.get_description();
    if (!page.takes_value) {
        return page;
    }
    const std::string& told = option.get_option_text();
    const std::string type = told.empty() ? option.get_type_name() : told;
    const std::vector<std::string> listed = listed_values(option);
    page.is_list = !listed.empty();
    page.choices = page.is_list ? std::vector<std::string>{} : choices_of(type);
    page.takes_file =
        page.choices.empty() && names_a_file(page.positional ? page.names[0] + " " + type : type);
    page.value =
        page.choices.empty() ? type.substr(0, type.find(':')) : join_text(page.choices, "|");
    page.value = page.positional ? page.names[0] : page.value;
    page.choices = page.is_list ? listed : page.choices;
    for (const Known& known : known_values()) {
        if (known.value == page.value) {
            page.values_of_host = known.of_host;
            page.suffixes = known.suffixes;
            page.is_list = known.is_list;
        }
    }
    page.required = option.get_required();
    page.repeated = option.get_expected_max() == CLI::detail::expected_max_vector_size;
    page.fallback = option.get_default_str();
    return page;
}

}  // namespace

CommandPage program_of(const CLI::App& app) {
    CommandPage page{app.get_name(), app.get_description(), {}, app.get_footer()};
    for (const CLI::Option* option : app.get_options()) {
        if (!option->get_group().empty()) {
            page.options.push_back(page_of(*option));
        }
    }
    std::stable_partition(page.options.begin(), page.options.end(),
                          [](const OptionPage& option) { return option.positional; });
    return page;
}

std::vector<CommandPage> commands_of(const CLI::App& app) {
    std::vector<CommandPage> out;
    for (const CLI::App* command : app.get_subcommands({})) {
        if (!command->get_group().empty()) {
            out.push_back(program_of(*command));
        }
    }
    std::vector<std::string> names;
    for (const CommandPage& command : out) {
        names.push_back(command.name);
    }
    for (CommandPage& command : out) {
        for (OptionPage& option : command.options) {
            if (option.value == "COMMAND") {
                option.choices = names;
            }
        }
    }
    return out;
}

std::vector<std::string> usage_of(const CommandPage& command) {
    std::vector<std::string> out;
    bool optional = false;
    for (const OptionPage& option : command.options) {
        if (!option.required && !option.positional) {
            optional = true;
            continue;
        }
        std::string word =
            option.positional ? option.value : option.names.back() + " " + option.value;
        word += option.repeated ? "..." : "";
        out.push_back(option.required ? word : "[" + word + "]");
    }
    if (optional) {
        out.emplace_back("[options]");
    }
    return out;
}

}  // namespace unecho::app
