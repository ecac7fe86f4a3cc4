// SPDX-License-Identifier: BSD-3-Clause
#include "options/examples.h"

#include <array>

namespace unecho::app {
namespace {

constexpr std::array kExamples{
    Example{"unecho pcap in.pcap -o out.pcap", "Remove the duplicates from a capture."},
    Example{"unecho pcap tap-a.pcapng tap-b.pcap.gz -o both.pcapng.gz --window 20ms",
            "Merge the captures of two taps by time and leave one copy of each packet."},
    Example{"tcpdump -w - | unecho pcap - -o - | tcpdump -r -",
            "Read from a pipe and write to one."},
    Example{"unecho analyze in.pcap --html report.html",
            "Report which duplicates a capture holds and what to configure, as a page for a "
            "browser."},
    Example{"unecho analyze tap-a.pcap tap-b.pcap --toml unecho.toml",
            "Write the recommended configuration for two taps."},
    Example{"unecho analyze in.pcap --key flow --window 5ms",
            "Show what such a configuration would do here."},
    Example{"unecho compare before.pcap behind.pcap",
            "Say which packets never came from one point to the other, and how late the rest was."},
    Example{"unecho compare lan.pcapng wan.pcapng --nat --missing lost.pcapng --html path.html",
            "Recognise packets behind a NAT, write the missing ones, and draw a page."},
    Example{"sudo unecho capture -i eth1 -i eth2 -w out.pcapng",
            "Capture from two taps without duplicates, until Ctrl-C."},
    Example{"unecho capture -D", "List the interfaces."},
    Example{"unecho extcap --extcap-interfaces",
            "Print what Wireshark asks first; Wireshark calls this command."},
    Example{"unecho init link.toml --link eth1,eth2",
            "Write a first configuration for a bump in the wire."},
    Example{"unecho init --tap eth1 --tap eth2 --tool eth3",
            "Write unecho.toml, which joins two taps into one tool port."},
    Example{"unecho check unecho.toml", "Check a configuration and print what it would do."},
    Example{"unecho check --strict unecho.toml && sudo unecho run unecho.toml",
            "Run it only if this host has what it needs."},
    Example{"sudo unecho run unecho.toml --json",
            "Run until Ctrl-C, and print the report at the end as JSON."},
    Example{"unecho run unecho.toml -- --no-huge -m 512",
            "Pass options on to DPDK: memory in ordinary pages."},
    Example{"sudo unecho reload --dry-run",
            "Print what would change if it read its configuration now."},
    Example{"sudo unecho status --watch", "Show every second what the appliances on this host do."},
    Example{"unecho serve --listen 127.0.0.1:9797",
            "Serve metrics for Prometheus, a web page, and JSON."},
    Example{"unecho size --window 50ms --rate 10Mpps --max-false-drop 1e-6",
            "Compare what each engine needs to remember the packets of 50 ms."},
    Example{"unecho help pcap", "Print the options of a command."},
    Example{"unecho version", "Print what to quote in a bug report."},
};

}  // namespace

std::span<const Example> all_examples() {
    return kExamples;
}

std::string_view command_of(const Example& example) {
    constexpr std::string_view kProgram = "unecho ";
    std::string_view rest(example.line);
    rest.remove_prefix(rest.find(kProgram) + kProgram.size());
    return rest.substr(0, rest.find(' '));
}

std::string examples_text(std::string_view command) {
    std::string text;
    std::string_view before;
    for (const Example& example : kExamples) {
        const std::string_view of = command_of(example);
        if (command.empty() ? of != before : of == command) {
            text.append("  ").append(example.line).append("\n      ").append(example.text) += '\n';
        }
        before = of;
    }
    return text.empty() ? "" : "\nExamples:\n" + text;
}

}  // namespace unecho::app
