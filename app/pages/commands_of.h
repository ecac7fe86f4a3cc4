// SPDX-License-Identifier: BSD-3-Clause
// What the command line offers, as plain data: read from CLI11's App, so that --help, the man page
// and the completion say the same. Hidden options and commands (group "") are left out.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace unecho::app {

struct OptionPage {
    std::vector<std::string> names;  // "-h", "--help"; of a positional its one name
    bool positional = false;
    bool takes_value = false;
    std::string value;                 // "FILE"; of a choice "KEY" or "a|b"
    std::vector<std::string> choices;  // empty: not known
    bool takes_file = false;
    bool required = false;
    bool repeated = false;
    std::string fallback;
    std::string description;
};

struct CommandPage {
    std::string name;
    std::string description;
    std::vector<OptionPage> options;  // in the order of --help: positionals first
    std::string footer;
};

// The options before any command; the name is the program's.
CommandPage program_of(const CLI::App& app);
std::vector<CommandPage> commands_of(const CLI::App& app);

// "unecho pcap IN... -o FILE [options]": what is required, then the rest.
std::vector<std::string> usage_of(const CommandPage& command);

}  // namespace unecho::app
