// SPDX-License-Identifier: BSD-3-Clause
#include "config/starter.h"

#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "base/join_text.h"
#include "base/option_names.h"
#include "config/devices/device.h"
#include "config/message_text.h"

namespace unecho::config {
namespace {

constexpr std::size_t kMostTaps = 31;  // and a tool: 32 ports

std::vector<std::string> interfaces_of(const Starter& starter) {
    std::vector<std::string> all = starter.is_link() ? starter.link : starter.taps;
    if (!starter.is_link()) {
        all.push_back(starter.tool);
    }
    return all;
}

bool is_pci(std::string_view name) {
    const Result<Device> device = parse_device(name);
    return device && device->is_pci();
}

// Return the commands, as comments, that prepare Linux interfaces.
std::string preparation(const Starter& starter) {
    std::vector<std::string> linux_ones;
    for (const std::string& name : interfaces_of(starter)) {
        if (!is_pci(name)) {
            linux_ones.push_back(name);
        }
    }
    if (linux_ones.empty()) {
        return "";
    }
    return fmt::format(
        "#   for i in {}; do\n"
        "{}#       ip link set $i up promisc on\n"
        "{}#       ethtool -K $i gro off gso off tso off lro off rxvlan off txvlan off rx off tx "
        "off\n"
        "#   done\n",
        join_text(linux_ones, " "), starter.is_link() ? "#       ip address flush dev $i\n" : "",
        starter.af_xdp ? "#       ethtool -L $i combined 1\n" : "");
}

std::string head(const Starter& starter, const std::string& path) {
    std::string what = "# A bump in the wire, both ways, without duplicates (echoes): ";
    if (starter.is_link()) {
        what += join_text(starter.link, " and ") + ".\n";
    } else {
        what = fmt::format(
            "# Joins the packets of {}\n"
            "# into one feed for the tool at {}, without duplicates (echoes).\n",
            join_text(starter.taps, ", "), starter.tool);
    }
    return fmt::format(
        "{}#\n"
        "# Made by \"unecho init\". docs/configuration.md and \"man unecho.toml\" explain every "
        "key.\n"
        "# Before the first run, as root:\n"
        "#\n"
        "{}#   unecho check {}\n"
        "#   unecho run {}\n"
        "#\n"
        "# None of the interfaces may be the one you log in over{}{}\n",
        what, preparation(starter), path, path,
        starter.is_link() ? ", be in a bridge or have an address.\n" : ".\n",
        starter.af_xdp ? ""
                       : fmt::format("# AF_PACKET takes frames of at most 1518 bytes; with {} "
                                     "af_xdp longer ones pass.\n",
                                     option::kDriver));
}

std::string add_port(const Starter& starter, const std::string& name, const std::string& interface,
                     std::size_t number) {
    std::string out = fmt::format("[[port]]\nname = \"{}\"\ndevice = \"", name);
    if (is_pci(interface)) {
        return out + interface + "\"\n\n";
    }
    out += fmt::format("{}{},iface={}\"\n", starter.af_xdp ? "net_af_xdp" : "net_af_packet", number,
                       interface);
    return out + (starter.af_xdp ? "rx_queues = 1\n\n" : "\n");
}

// Return a line with a comment, below the comments of other lines.
std::string commented(std::string line, const std::string& comment) {
    constexpr std::size_t kColumn = 24;
    line.resize(std::max(line.size() + 1, kColumn), ' ');
    return fmt::format("{}# {}\n", line, comment);
}

std::string add_filter(const Starter& starter, const std::string& name, const std::string& whose) {
    const Nanoseconds window = starter.window != 0 ? starter.window : starter.default_window();
    const double rate = starter.rate != 0 ? starter.rate : starter.default_rate();
    return "[[filter]]\nname = \"" + name + "\"\n" +
           commented("key = \"packet\"",
                     "the whole IP packet; TTL and MAC addresses do not count") +
           commented(fmt::format("window = \"{}\"", duration_text(window)),
                     "a copy younger than this is a duplicate; unecho analyze says what") +
           commented("", "your taps need") +
           commented(
               fmt::format("rate = \"{}\"", rate_literal(rate)),
               fmt::format("packets per second {}; above it the window gets shorter", whose)) +
           commented("max_false_drop = 1e-6",
                     "a match that is an accident with a greater chance passes") +
           "\n";
}

constexpr const char* kDryRun =
    "on_echo = \"drop\"        # \"pass\" for a dry run: duplicates are counted and forwarded\n\n";

std::string link_body(const Starter& starter) {
    return add_port(starter, "left", starter.link[0], 0) +
           add_port(starter, "right", starter.link[1], 1) +
           "# One filter a direction: what comes back is never a duplicate of what went out.\n" +
           add_filter(starter, "left-to-right", "of this direction") +
           add_filter(starter, "right-to-left", "of this direction") +
           "[[route]]\nfrom = [\"left\"]\nto = \"right\"\nfilter = \"left-to-right\"\n" + kDryRun +
           "[[route]]\nfrom = [\"right\"]\nto = \"left\"\nfilter = \"right-to-left\"\n" + kDryRun;
}

std::string taps_body(const Starter& starter) {
    std::string ports;
    std::string names;
    for (std::size_t i = 0; i < starter.taps.size(); ++i) {
        const std::string name = "tap-" + std::to_string(i + 1);
        ports += add_port(starter, name, starter.taps[i], i);
        names += (names.empty() ? "\"" : ", \"") + name + "\"";
    }
    return ports + add_port(starter, "tool", starter.tool, starter.taps.size()) +
           add_filter(starter, "echo", "of all taps together") + "[[route]]\nfrom = [" + names +
           "]\nto = \"tool\"\nfilter = \"echo\"\n" + kDryRun;
}

std::string run_keys(const Starter& starter) {
    std::string out;
    if (starter.af_xdp) {
        // AF_XDP keeps more than 4096 of them per port for itself.
        constexpr std::size_t kOfPort = 16384;
        out += fmt::format("mbufs = {}           # AF_XDP keeps thousands per port for itself\n",
                           kOfPort * interfaces_of(starter).size());
    }
    if (!starter.telemetry_group.empty()) {
        out += "telemetry_group = \"" + starter.telemetry_group +
               "\"   # who may ask \"unecho status\" and read metrics\n";
    }
    return out.empty() ? "" : "[run]\n" + out;
}

}  // namespace

Nanoseconds Starter::default_window() const {
    return is_link() ? 20 * kMillisecond : 50 * kMillisecond;
}

double Starter::default_rate() const {
    return is_link() ? 5e5 : 1e6;
}

Status check_port_name(std::string_view text) {
    constexpr std::string_view kAllowed =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.@:-";
    constexpr std::size_t kLongest = 15;  // IFNAMSIZ - 1
    const bool plain = !text.empty() && text.size() <= kLongest &&
                       text.find_first_not_of(kAllowed) == std::string_view::npos &&
                       !text.starts_with('-');
    return plain || is_pci(text)
               ? Status{}
               : fail(Errc::kInvalidArgument,
                      in_quotes(text) +
                          " is no interface; allowed: the name of an interface, as "
                          "in eth1, or a PCI address, as in 0000:3b:00.0");
}

Status check_starter(const Starter& starter) {
    const auto refuse = [](std::string what) {
        return fail(Errc::kInvalidArgument, std::move(what));
    };
    if (starter.is_link()) {
        if (!starter.taps.empty() || !starter.tool.empty()) {
            return refuse("a link has no taps and no tool; leave out one of the two");
        }
        if (starter.link.size() != 2) {
            return refuse("a link has 2 interfaces, not " + std::to_string(starter.link.size()));
        }
    } else if (starter.taps.empty() || starter.tool.empty()) {
        return refuse(starter.taps.empty() ? "it is not said which interfaces are taps"
                                           : "it is not said which interface leads to the tool");
    } else if (starter.taps.size() > kMostTaps) {
        return refuse(fmt::format("{} taps; allowed: 1 to {}", starter.taps.size(), kMostTaps));
    }
    std::set<std::string> seen;
    for (const std::string& name : interfaces_of(starter)) {
        if (const Status named = check_port_name(name); !named) {
            return named;
        }
        if (!seen.insert(name).second) {
            return refuse(fmt::format("interface {} is there twice", in_quotes(name)));
        }
    }
    return {};
}

std::string starter_toml(const Starter& starter, const std::string& path) {
    std::string out = head(starter, path);
    out += starter.is_link() ? link_body(starter) : taps_body(starter);
    out += run_keys(starter);
    out.erase(out.find_last_not_of('\n') + 1);
    return out + "\n";
}

}  // namespace unecho::config
