// SPDX-License-Identifier: BSD-3-Clause
// The command line as plain data, read from CLI11's App, so that --help, the man page and the
// completions agree. Hidden options and commands (group "") are left out.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace unecho::app {

struct OptionPage {
    std::vector<std::string> names;  // "-h", "--help"; of a positional its only name
    bool positional = false;
    bool takes_value = false;
    std::string value;                 // "FILE"; of choices "KEY" or "a|b"
    std::vector<std::string> choices;  // empty: unknown
    bool is_list = false;              // of several values with commas between
    std::string values_of_host;        // what `unecho __complete` prints; empty: none
    bool takes_file = false;
    std::vector<std::string> suffixes;  // of these files, "toml"; empty: of any name
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

// Return the options before any command, under the program's name.
CommandPage program_of(const CLI::App& app);
std::vector<CommandPage> commands_of(const CLI::App& app);

// Return "unecho pcap IN... -o FILE [options]": required words first.
std::vector<std::string> usage_of(const CommandPage& command);

}  // namespace unecho::app
