// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/report/report_toml.h"

#include <algorithm>
#include <string_view>

#include <fmt/core.h>

#include "base/humanize.h"
#include "base/ids.h"
#include "base/join_text.h"
#include "base/option_names.h"
#include "base/os/device.h"
#include "base/units.h"
#include "base/utf8.h"
#include "captures/analyze/report/report_view.h"
#include "captures/analyze/report/text_format.h"
#include "captures/standard_streams.h"

namespace unecho::analyze {
namespace {

constexpr std::uint16_t kEthernet = 1;
constexpr std::uint32_t kReplayedWhole = 16128;  // bytes of a frame that net_pcap reads

std::string comment(std::string_view text) {
    return wrapped(printable(text), "# ");
}

std::string toml_string(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
        }
        out += c;
    }
    return out + "\"";
}

// Return true if net_pcap can read the file, and a device string can name it.
bool can_replay(const FileInfo& file) {
    return file.plain && fits_device_string(file.path) && printable(file.path) == file.path;
}

bool can_replay(const Report& report) {
    return report.files.size() < kMaxPorts &&
           std::all_of(report.files.begin(), report.files.end(),
                       [](const FileInfo& file) { return can_replay(file); }) &&
           std::all_of(report.interfaces.begin(), report.interfaces.end(),
                       [](const InterfaceInfo& one) { return one.link_type == kEthernet; });
}

std::string port_name(std::size_t i) {
    return "tap-" + std::to_string(i + 1);
}

std::string port(const std::string& name, const std::string& device, std::string_view indent) {
    const std::string begin(indent);
    return fmt::format("{}[[port]]\n{}name = {}\n{}device = {}\n", begin, begin, toml_string(name),
                       begin, toml_string(device));
}

std::string replay_ports(const Report& report) {
    std::string out =
        "[eal]\nargs = [\"--no-pci\", \"--no-huge\", \"-m\", \"512\", "
        "\"--no-shconf\"]\n\n";
    for (std::size_t i = 0; i < report.files.size(); ++i) {
        out +=
            port(port_name(i), fmt::format("net_pcap{},rx_pcap={}", i, report.files[i].path), "") +
            "\n";
    }
    return out +
           port("tool", fmt::format("net_pcap{},tx_pcap=unecho-out.pcap", report.files.size()),
                "") +
           "\n";
}

std::string cut_note(const Report& report) {
    return report.basis.longest_frame <= kReplayedWhole
               ? ""
               : comment(fmt::format("net_pcap cuts frames above {} bytes, and the longest here "
                                     "has {}: those are replayed without their end.",
                                     format_count(kReplayedWhole),
                                     format_count(report.basis.longest_frame))) +
                     "\n";
}

// Return the ports of a network: one for each capture, or for each interface of the only capture.
std::string network_ports(std::size_t taps, std::string_view indent) {
    const std::string begin(indent);
    std::string out = fmt::format(
        "{}[eal]\n"
        "{}args = [\"--no-pci\", \"--no-huge\", \"-m\", \"512\", \"--file-prefix=unecho\"]\n",
        begin, begin);
    for (std::size_t i = 0; i <= taps; ++i) {
        const std::string number = std::to_string(i + 1);
        out += begin.substr(0, begin.find(' ')) + "\n" +
               port(i < taps ? port_name(i) : "tool",
                    fmt::format("net_af_packet{},iface=eth{}", i, number), indent);
    }
    return out;
}

std::string rate_text(double rate) {
    const auto whole = to_whole(rate);
    return whole % 1000 == 0 ? std::to_string(whole / 1000) + "kpps"
                             : std::to_string(whole) + "pps";
}

// "1e-6", not "1e-06".
std::string bound_text(double bound) {
    std::string out = format_number("%g", bound);
    const std::size_t zero = out.find("e-0");
    return zero == std::string::npos ? out : out.erase(zero + 2, 1);
}

std::string ports_text(const Report& report) {
    return join_text(report.basis.vxlan_ports, ",",
                     [](std::uint16_t port) { return std::to_string(port); });
}

// Return true if the user's VXLAN ports belong to the recommended tunnels.
bool has_vxlan_ports(const Report& report) {
    const std::vector<std::string>& names = report.recommendation.tunnels;
    return !report.basis.vxlan_ports.empty() &&
           std::find(names.begin(), names.end(), "vxlan") != names.end();
}

std::string filter(const Report& report) {
    std::string out = "[[filter]]\nname = \"echo\"\n\n";
    for (const Setting& each : settings(report)) {
        if (!each.toml.empty()) {
            out += fmt::format("{}{} = {}\n\n", comment(each.reason), each.key, each.toml);
        }
    }
    return out;
}

// Name the interfaces of a single capture that has several, most echoes first.
std::string interfaces_note(const Report& report) {
    constexpr std::size_t kMost = 8;
    const std::vector<std::size_t> order = order_by_echoes(report.interfaces);
    if (report.files.size() != 1 || order.size() < 2) {
        return "";
    }
    std::string names;
    for (std::size_t i = 0; i < std::min(order.size(), kMost); ++i) {
        names += (i == 0 ? "" : ", ") + report.interfaces[order[i]].name;
    }
    return comment(fmt::format("The capture's interfaces, most echoes first: {}{}.", names,
                               order.size() > kMost
                                   ? " and " + format_quantity(order.size() - kMost, "other")
                                   : "")) +
           "#\n";
}

std::string route(const Report& report, std::size_t taps) {
    std::string from;
    for (std::size_t i = 0; i < taps; ++i) {
        from += (i == 0 ? "" : ", ") + toml_string(port_name(i));
    }
    return fmt::format("[[route]]\n{}from = [{}]\nto = \"tool\"\nfilter = \"echo\"\n",
                       comment(report.recommendation.taps_reason), from);
}

// Return "7 are copies and 3 more are copies cut short".
std::string copies_text(const Report& report) {
    const std::uint64_t cut = report.recommendation.removed_cut.packets;
    const std::string whole = format_count(report.copied.packets) + " are copies";
    return cut == 0 ? whole
           : report.copied.packets == 0
               ? format_count(cut) + " are copies cut short"
               : fmt::format("{} and {} more are copies cut short", whole, format_count(cut));
}

std::string toml_head(const Report& report) {
    constexpr std::size_t kMost = 8;
    std::string files;
    for (std::size_t i = 0; i < std::min(report.files.size(), kMost); ++i) {
        const std::string& path = report.files[i].path;
        files += (i == 0 ? "" : ", ") + capture::input_display_name(path);
    }
    if (report.files.size() > kMost) {
        files += " and " + format_quantity(report.files.size() - kMost, "other");
    }
    const Recommendation& wanted = report.recommendation;
    const std::uint64_t removed = wanted.removed.packets + wanted.removed_cut.packets;
    std::string out = comment(fmt::format(
        "Made by unecho analyze from {}: {}, of which {}. This would drop {}, {} of all packets.",
        files, format_quantity(report.total.packets, "packet"), copies_text(report),
        format_count(removed), percent(share(removed, report.total.packets))));
    if (!wanted.needed) {
        out += comment(report.not_compared.empty()
                           ? "There is hardly anything to remove here: see whether you need it "
                             "at all."
                           : "Nothing is to be removed of what could be compared.");
    }
    for (const NotCompared& one : report.not_compared) {
        out += comment(text_of(one));
    }
    out += comment(wanted.sure_reason);
    for (const SentAgain& one : report.kinds_sent_again) {
        out += comment(fmt::format(
            "Sent again: {}, {}{}", one.protocol, format_quantity(one.echoes.packets, "packet"),
            one.regular ? fmt::format(", every {}.", brief_duration(one.period)) : "."));
    }
    return out + "\n";
}

}  // namespace

std::vector<Setting> settings(const Report& report) {
    const Recommendation& wanted = report.recommendation;
    std::vector<Setting> out;
    // A value that is a name. written: it belongs in a configuration; given: in a command.
    const auto choose = [&out](const char* key, std::string_view value, const std::string& reason,
                               bool written, const std::string& option, bool given) {
        const std::string text(value);
        out.push_back({key, text, reason, written ? toml_string(text) : "",
                       given ? fmt::format("{} {}", option, text) : ""});
    };
    choose("key", packet::name_of(wanted.key), wanted.key_reason, true, option::kKey, true);
    const std::string window = duration_literal(wanted.window);
    out.push_back(
        {"window", format_duration(wanted.window), wanted.window_reason, toml_string(window),
         fmt::format("{} {}", option::kWindow, report.appended.packets != 0 ? "inf" : window)});
    out.push_back({"rate", format_rate(wanted.rate), wanted.rate_reason,
                   toml_string(rate_text(wanted.rate)), ""});
    choose("policy", text_of(wanted.policy), wanted.policy_reason, true, option::kPolicy,
           wanted.policy != engines::Policy::kFixed);
    out.push_back({"max_false_drop", "", "The chance that a new packet is taken for an echo.",
                   bound_text(wanted.max_false_drop), ""});
    const bool frames = wanted.non_ip == packet::NonIp::kFrame;
    choose("non_ip", text_of(wanted.non_ip), wanted.non_ip_reason, frames, option::kNonIp, frames);
    const bool opens = !wanted.tunnels.empty();
    out.push_back({"tunnels", opens ? join_text(wanted.tunnels) : "none", wanted.tunnels_reason,
                   wanted.tunnels_reason.empty() ? ""
                   : opens ? "[\"" + join_text(wanted.tunnels, "\", \"") + "\"]"
                           : toml_string("none"),
                   opens ? option::kTunnels + " " + join_text(wanted.tunnels, ",") : ""});
    if (has_vxlan_ports(report)) {
        const std::string ports = ports_text(report);
        out.push_back({"vxlan_ports", ports, "", "[" + ports + "]",
                       fmt::format("{} {}", option::kVxlanPorts, ports)});
    }
    choose("tenant", text_of(wanted.tenant), wanted.tenant_reason, !wanted.tenant_reason.empty(),
           option::kTenant, opens && wanted.tenant != packet::default_tenant(wanted.key));
    if (!wanted.key_bytes_reason.empty() || wanted.key_bytes) {
        const std::string bytes = std::to_string(wanted.key_bytes.value_or(0));
        out.push_back({"key_bytes", wanted.key_bytes ? bytes : "not set", wanted.key_bytes_reason,
                       wanted.key_bytes ? bytes : "",
                       wanted.key_bytes ? fmt::format("{} {}", option::kKeyBytes, bytes) : ""});
    }
    choose("repeats", text_of(wanted.repeats), wanted.repeats_reason,
           !wanted.repeats_reason.empty(), option::kRepeats,
           wanted.repeats == packet::Repeats::kDrop);
    const bool point = wanted.point != packet::Point::kLink;
    choose("point", text_of(wanted.point), "", point, option::kPoint, point);
    const bool tags = wanted.tags != packet::Tags::kIgnore;
    choose("tags", text_of(wanted.tags), "", tags, option::kTags, tags);
    const bool same_port = wanted.same_port.has_value();
    choose("same_port", same_port ? duration_literal(*wanted.same_port) : "", "", same_port,
           option::kSamePort, same_port);
    const bool all = wanted.second_looks != packet::SecondLooks::kDoubled;
    choose("second_looks", text_of(wanted.second_looks), "", all, option::kSecondLooks, all);
    if (wanted.views != 2) {
        const std::string views = std::to_string(wanted.views);
        out.push_back({"views", views, "", views, fmt::format("{} {}", option::kViews, views)});
    }
    choose("engine", text_of(wanted.engine),
           wanted.engine_chosen.empty()
               ? ""
               : fmt::format("With these figures that is {}, in {}.", wanted.engine_chosen,
                             format_size(wanted.memory)),
           true, "", false);
    return out;
}

std::string pcap_options(const Report& report) {
    std::vector<std::string> given;
    for (Setting& each : settings(report)) {
        if (!each.option.empty()) {
            given.push_back(std::move(each.option));
        }
    }
    return join_text(given, " ");
}

std::string to_toml(const Report& report) {
    const bool replay = can_replay(report);
    const std::size_t most = kMaxPorts - 1;
    const std::size_t seen =
        std::max(report.files.size(), order_by_echoes(report.interfaces).size());
    const std::size_t network = std::clamp<std::size_t>(seen, 1, most);
    const std::size_t taps = replay ? report.files.size() : network;
    std::string out = toml_head(report) + interfaces_note(report);
    if (replay) {
        out += comment(
                   "Replays the captures. What it writes has the time of writing; with the "
                   "packets' own times: unecho pcap IN... -o OUT " +
                   report.recommendation.pcap_options) +
               "#\n" +
               comment(
                   "On a network, have instead of the ports and [run] below, with your "
                   "interfaces for eth1 and so on:") +
               "#\n" + network_ports(network, "#   ") + "\n" + cut_note(report) +
               replay_ports(report);
    } else {
        out += comment("Replace eth1 and so on by your interfaces; the last is the tool's.") +
               network_ports(taps, "") + "\n";
    }
    out += filter(report) + route(report, taps);
    if (replay) {
        out +=
            "\n[run]\nclock = \"capture\"           # the packets' own times\n"
            "stop_when_idle = \"200ms\"    # the captures are through\n";
    }
    return out;
}

}  // namespace unecho::analyze
