// SPDX-License-Identifier: BSD-3-Clause
// Examples of command lines, for --help, `unecho help` and the man page. write_pages and a test
// check that the command line accepts them and that each command has one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace unecho::app {

struct Example {
    const char* line;
    const char* text;
};

// All examples, in the order of the commands.
std::span<const Example> all_examples();

// Return the command that an example shows: "pcap" of "tcpdump -w - | unecho pcap - -o out.pcap".
std::string_view command_of(const Example& example);

// Return the examples of a command as the end of its help; without a command, the first of each.
std::string examples_text(std::string_view command);

}  // namespace unecho::app
