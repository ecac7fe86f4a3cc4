// SPDX-License-Identifier: BSD-3-Clause
#include "pages/man_page.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string_view>

#include <fmt/core.h>

#include "base/join_text.h"
#include "options/examples.h"
#include "options/exit_status.h"
#include "pages/roff.h"

namespace unecho::app {
namespace {

struct Entry {
    const char* name;
    const char* text;
};

constexpr std::array kPlaceholders{
    Entry{"DURATION", "A decimal number and a unit: 20us, 50ms, 1.5s, 10min, 1h; ns too."},
    Entry{"SECONDS", "A decimal number, or a DURATION."},
    Entry{"TIME",
          "2026-01-02T03:04:05.678Z; with +01:00 for Z; without it in local time; or seconds since "
          "1970."},
    Entry{"SIZE", "A decimal number and a unit: 64MiB, 1GiB (powers of 1024), 64MB (of 1000)."},
    Entry{"RATE", "Packets per second: 500kpps, 14.88Mpps."},
    Entry{"P", "A chance, above 0 up to 0.5, as in 1e-6."},
    Entry{"SHARE", "A part of the whole, 0 to 1, as in 0.2."},
    Entry{"N", "A whole number."},
    Entry{"LIST", "Names or numbers with commas between: vxlan,gre."},
    Entry{"EXPR", "An expression of pcap-filter(7): 'udp port 53'."},
    Entry{"IF", "A network interface: eth0; any is all of this host."},
    Entry{"VALUE", "An interface as Wireshark has it: unecho-eth0."},
    Entry{"VERSION", "Of Wireshark: 4.0."},
    Entry{"USER", "The name of a user of this host: nobody."},
    Entry{"IF,IF", "Network interfaces with commas between: eth1,eth2."},
    Entry{"COMMAND", "A command of unecho: pcap."},
    Entry{"NAME",
          "An appliance: [run] name, which is that of its configuration where it says none."},
    Entry{"RULE", "A rule of unecho status, in brackets behind what it found: link-down."},
    Entry{
        "ADDRESS",
        "An address of this host and a port: 127.0.0.1:9797, [::1]:9797. Or unix: and the path of "
        "a Unix socket: unix:/run/unecho-serve/socket."},
    Entry{"GROUP", "The name of a group of users of this host: www-data."},
    Entry{"FILE", "The name of a file; - is standard input or output."},
    Entry{"FOLDER", "The path of a folder; it is made where there is none."},
    Entry{"NAMES", "Names of appliances with commas between; or a folder of configurations."},
    Entry{"IN", "A capture; - is standard input."},
    Entry{"CONFIG", "A configuration, unecho.toml(5)."},
};

constexpr std::array kKeys{
    Entry{
        "packet",
        "The outermost IP packet, or with --tunnels the innermost, without what hops change: TTL, "
        "checksum, TOS, and the MAC addresses, tags and padding around it. The default."},
    Entry{"flow", "Addresses, ports and protocol, of one direction."},
    Entry{"flow-bidir", "The same of both directions."},
    Entry{"frame", "Every captured byte."},
};

constexpr std::string_view kWindows =
    "The window is how long a packet is remembered. A copy that is younger than the window is an "
    "echo; one of exactly the window is none. With --count N it must be among the N packets before "
    "as well. With policy fixed the window begins with the packet that was kept; with refresh each "
    "echo begins it anew, so that what repeats without end passes once. In captures time is that "
    "of the packets. It should be longer than the longest way that copies take, and shorter than "
    "what a sender waits before it sends the same again; unecho analyze says which that is.";

constexpr std::string_view kPairs =
    "--pairs writes a line for each echo: echo,original,age_ns. The numbers are those of "
    "the input, as Wireshark shows them; with several inputs those of all merged by time, from 1. "
    "What -A, -B and --filter leave out counts. age_ns is the time between the two. "
    "With several inputs two columns more say whose packets they are: echo_file,original_file. "
    "The fields of the original are empty where a filter decided, which knows of none.";

constexpr std::array kFiles{
    Entry{"unecho.toml", "The configuration of a run, under any name; see unecho.toml(5)."},
    Entry{".NAME.unecho-XXXXXX",
          "An output NAME that is not finished; it has its name when it is whole. Without a run "
          "that is still writing it may be removed."},
};

constexpr std::array kEnvironment{
    Entry{"UNECHO_ISA",
          "The instruction set of the filters' kernels, before that of the "
          "configuration, and in its words: isa in unecho.toml(5)."},
    Entry{"RUNTIME_DIRECTORY",
          "Where sockets of appliances are made and looked for, below dpdk; else below /run, and "
          "of who "
          "is not root below XDG_RUNTIME_DIR, or /tmp without it. A folder that others may write "
          "to is refused."},
    Entry{"NO_COLOR", "If it is set, unecho status has no colours."},
};

constexpr std::string_view kDescription =
    "unecho finds packets that were already seen a moment ago, as several taps, mirror ports and "
    "loops make them, and removes them: from live traffic, between ports of DPDK, or from "
    "captures.\n.PP\n"
    "A packet is an echo if one with the same key was seen less than the window before it. What "
    "does not count for the key, and how sure an answer is, is said in unecho.toml(5).\n";

std::string paragraph(std::string_view text) {
    return fmt::format(".PP\n{}\n", roff_text(text));
}

template <typename Entries>
std::string entries(const Entries& list) {
    std::string out;
    for (const Entry& entry : list) {
        out += fmt::format(".TP\n{}\n{}\n", roff_bold(entry.name), roff_text(entry.text));
    }
    return out;
}

std::string heading_of(const OptionPage& option) {
    if (option.positional) {
        return roff_italic(option.value) + (option.repeated ? " ..." : "");
    }
    std::string out = join_text(option.names, ", ", roff_bold);
    if (option.takes_value) {
        const bool literal = !option.choices.empty() && !option.is_list;
        out += " " + (literal ? roff_bold(option.value) : roff_italic(option.value));
        out += option.repeated ? " ..." : "";
    }
    return out;
}

std::string option_entry(const OptionPage& option) {
    std::string text = option.description;
    if (!text.empty() && text.back() != '.') {
        text += '.';
    }
    text += option.required && !option.positional ? " Required." : "";
    text += option.fallback.empty() ? "" : fmt::format(" Default: {}.", option.fallback);
    if (option.positional && !option.choices.empty()) {
        text += " One of:";
        for (const std::string& choice : option.choices) {
            text += (choice == option.choices.front() ? " " : ", ") + choice;
        }
        text += ".";
    }
    return fmt::format(".TP\n{}\n{}\n", heading_of(option), roff_text(text));
}

std::string synopsis_of(const std::string& program, const CommandPage& command) {
    std::string out = fmt::format(".HP\n{} {}", roff_bold(program), roff_bold(command.name));
    for (const std::string& word : usage_of(command)) {
        out += " " + roff_text(word);
    }
    return out + "\n";
}

std::string command_section(const std::string& program, const CommandPage& command) {
    std::string out =
        fmt::format(".SS {}\n", roff_argument(fmt::format("{} {}", program, command.name)));
    out += roff_text(command.description) + ".\n";
    for (const OptionPage& option : command.options) {
        out += option_entry(option);
    }
    out += command.footer.empty() ? "" : paragraph(command.footer);
    std::string examples;
    for (const Example& example : all_examples()) {
        if (command_of(example) == command.name) {
            examples += paragraph(example.text) + roff_example(example.line);
        }
    }
    return out + examples;
}

bool is_option(const CommandPage& command, const std::string& word) {
    return std::any_of(command.options.begin(), command.options.end(), [&](const auto& option) {
        return std::find(option.names.begin(), option.names.end(), word) != option.names.end();
    });
}

// Return true if the command line accepts the example from the program's name on.
bool understood(const std::vector<CommandPage>& commands, std::string_view example) {
    const std::string_view program = "unecho ";
    std::string rest(example.substr(example.find(program) + program.size()));
    rest = rest.substr(0, std::min(rest.find(" | "), rest.find(" && "))) + " ";
    const CommandPage* command = nullptr;
    for (std::size_t end = 0; (end = rest.find(' ')) != std::string::npos;) {
        const std::string word = rest.substr(0, end);
        rest.erase(0, end + 1);
        if (command == nullptr) {
            const auto found =
                std::find_if(commands.begin(), commands.end(),
                             [&](const CommandPage& each) { return each.name == word; });
            if (found == commands.end()) {
                return false;
            }
            command = &*found;
        } else if (word == "--") {
            return true;
        } else if (word.size() > 1 && word[0] == '-' && !is_option(*command, word)) {
            return false;
        }
    }
    return command != nullptr;
}

std::string examples_for(const std::vector<CommandPage>& commands) {
    std::string out;
    for (const Example& example : all_examples()) {
        if (understood(commands, example.line)) {
            out += paragraph(example.text) + roff_example(example.line);
        }
    }
    return out;
}

// Return "removes echoes" for "Removes echoes.", as section NAME needs it.
std::string short_form(std::string text) {
    if (!text.empty()) {
        text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
    }
    return text.ends_with('.') ? text.substr(0, text.size() - 1) : text;
}

}  // namespace

std::vector<std::string> examples_not_understood(const std::vector<CommandPage>& commands) {
    std::vector<std::string> out;
    for (const Example& example : all_examples()) {
        if (!understood(commands, example.line)) {
            out.emplace_back(example.line);
        }
    }
    return out;
}

std::string man_page(const CommandPage& program, const std::vector<CommandPage>& commands) {
    std::string out = ".\\\" Made from the command line of unecho.\n";
    out += roff_title("UNECHO", 1, "User Commands");
    out += fmt::format(".SH NAME\n{} \\- {}\n", program.name,
                       roff_text(short_form(program.description)));
    out += ".SH SYNOPSIS\n";
    for (const CommandPage& command : commands) {
        out += synopsis_of(program.name, command);
    }
    out += ".SH DESCRIPTION\n" + std::string(kDescription);
    out += ".SH OPTIONS\n";
    for (const OptionPage& option : program.options) {
        out += option_entry(option);
    }
    out += ".SH COMMANDS\n";
    for (const CommandPage& command : commands) {
        out += command_section(program.name, command);
    }
    out += ".SH PLACEHOLDERS\n" + entries(kPlaceholders);
    out += ".SH KEYS\nTwo packets are the same if their keys are.\n" + entries(kKeys);
    out += fmt::format(".SH WINDOWS\n{}\n.SH PAIRS\n{}\n", roff_text(kWindows), roff_text(kPairs));
    out += ".SH EXIT STATUS\n";
    for (const ExitStatus& status : kExitStatuses) {
        out += fmt::format(".TP\n{}\n{}\n", roff_bold(std::to_string(status.value)),
                           roff_text(status.meaning));
    }
    out += paragraph(
        "An input was not read whole where packets are missing or may be damaged: behind a record "
        "that cannot be one, behind damage of compressed data, with a wrong checksum, with "
        "--recover too. A capture that merely ends within a packet, as one that was stopped, was.");
    out += paragraph("Errors are one line each on standard error and name the remedy.");
    out += fmt::format(".SS {}\n", roff_argument("unecho status --check"));
    for (const ExitStatus& status : kCheckStatuses) {
        out += fmt::format(".TP\n{}\n{}\n", roff_bold(std::to_string(status.value)),
                           roff_text(status.meaning));
    }
    out += ".SH ENVIRONMENT\n" + entries(kEnvironment);
    out += ".SH FILES\n" + entries(kFiles);
    out += ".SH EXAMPLES\n" + examples_for(commands);
    out += ".SH SEE ALSO\n.BR unecho.toml (5),\n.BR editcap (1),\n.BR tcpdump (8)\n";
    return out;
}

}  // namespace unecho::app
