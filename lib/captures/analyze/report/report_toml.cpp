// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/report/report_toml.h"

#include <algorithm>
#include <string_view>

#include "base/humanize.h"
#include "base/ids.h"
#include "base/option_names.h"
#include "base/os/device.h"
#include "base/units.h"
#include "base/utf8.h"
#include "captures/analyze/classify/not_compared.h"
#include "captures/analyze/report/text_format.h"
#include "captures/standard_streams.h"

namespace unecho::analyze {
namespace {

constexpr std::uint16_t kEthernet = 1;
constexpr std::uint32_t kReplayedWhole = 16128;  // bytes of a frame that net_pcap reads

std::string comment(std::string_view text) {
    return wrapped(printable(text), "# ");
}

std::string in_quotes(std::string_view text) {
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
    return begin + "[[port]]\n" + begin + "name = " + in_quotes(name) + "\n" + begin +
           "device = " + in_quotes(device) + "\n";
}

std::string replay_ports(const Report& report) {
    std::string out =
        "[eal]\nargs = [\"--no-pci\", \"--no-huge\", \"-m\", \"512\", "
        "\"--no-shconf\"]\n\n";
    for (std::size_t i = 0; i < report.files.size(); ++i) {
        out += port(port_name(i),
                    "net_pcap" + std::to_string(i) + ",rx_pcap=" + report.files[i].path, "") +
               "\n";
    }
    return out +
           port("tool",
                "net_pcap" + std::to_string(report.files.size()) + ",tx_pcap=unecho-out.pcap", "") +
           "\n";
}

std::string cut_note(const Report& report) {
    return report.basis.longest_frame <= kReplayedWhole
               ? ""
               : comment("net_pcap cuts frames above " + format_count(kReplayedWhole) +
                         " bytes, and the longest here has " +
                         format_count(report.basis.longest_frame) +
                         ": those are replayed without their end.") +
                     "\n";
}

// Return the ports of a network: one for each capture, or for each interface of the only capture.
std::string network_ports(std::size_t taps, std::string_view indent) {
    const std::string begin(indent);
    std::string out =
        begin + "[eal]\n" + begin +
        "args = [\"--no-pci\", \"--no-huge\", \"-m\", \"512\", \"--file-prefix=unecho\"]\n";
    for (std::size_t i = 0; i <= taps; ++i) {
        const std::string number = std::to_string(i + 1);
        out += begin.substr(0, begin.find(' ')) + "\n" +
               port(i < taps ? port_name(i) : "tool",
                    "net_af_packet" + std::to_string(i) + ",iface=eth" + number, indent);
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
    std::vector<std::string> ports;
    for (const std::uint16_t port : report.basis.vxlan_ports) {
        ports.push_back(std::to_string(port));
    }
    return joined(ports, ",");
}

// Return true if the user's VXLAN ports belong to the recommended tunnels.
bool has_vxlan_ports(const Report& report) {
    const std::vector<std::string>& names = report.recommendation.tunnels;
    return !report.basis.vxlan_ports.empty() &&
           std::find(names.begin(), names.end(), "vxlan") != names.end();
}

std::string tunnels(const Report& report) {
    const Recommendation& wanted = report.recommendation;
    if (wanted.tunnels_reason.empty()) {
        return "";
    }
    std::string names;
    for (const std::string& name : wanted.tunnels) {
        names += (names.empty() ? "" : ", ") + in_quotes(name);
    }
    std::string out = comment(wanted.tunnels_reason) +
                      "tunnels = " + (names.empty() ? in_quotes("none") : "[" + names + "]") +
                      "\n\n";
    if (has_vxlan_ports(report)) {
        out += "vxlan_ports = [" + ports_text(report) + "]\n\n";
    }
    if (!wanted.tenant_reason.empty()) {
        out += comment(wanted.tenant_reason) + "tenant = " + in_quotes(text_of(wanted.tenant)) +
               "\n\n";
    }
    return out;
}

std::string filter(const Report& report) {
    const Recommendation& wanted = report.recommendation;
    std::string out =
        "[[filter]]\nname = \"echo\"\n\n" + comment(wanted.key_reason) +
        "key = " + in_quotes(packet::name_of(wanted.key)) + "\n\n" + comment(wanted.window_reason) +
        "window = " + in_quotes(format_duration(wanted.window)) + "\n\n" +
        comment(wanted.rate_reason) + "rate = " + in_quotes(rate_text(wanted.rate)) + "\n\n" +
        comment(wanted.policy_reason) + "policy = " + in_quotes(text_of(wanted.policy)) + "\n\n" +
        "# The chance that a new packet is taken for an echo.\nmax_false_drop = " +
        bound_text(wanted.max_false_drop) + "\n\n";
    if (wanted.non_ip == packet::NonIp::kFrame) {
        out += comment(wanted.non_ip_reason) + "non_ip = " + in_quotes(text_of(wanted.non_ip)) +
               "\n\n";
    }
    if (!wanted.repeats_reason.empty()) {
        out += comment(wanted.repeats_reason) + "repeats = " + in_quotes(text_of(wanted.repeats)) +
               "\n\n";
    }
    if (wanted.point != packet::Point::kLink) {
        out += "point = " + in_quotes(text_of(wanted.point)) + "\n\n";
    }
    if (wanted.tags != packet::Tags::kIgnore) {
        out += "tags = " + in_quotes(text_of(wanted.tags)) + "\n\n";
    }
    if (wanted.same_port) {
        out += "same_port = " + in_quotes(format_duration(*wanted.same_port)) + "\n\n";
    }
    if (wanted.second_looks != packet::SecondLooks::kDoubled) {
        out += "second_looks = " + in_quotes(text_of(wanted.second_looks)) + "\n\n";
    }
    if (wanted.views != 2) {
        out += "views = " + std::to_string(wanted.views) + "\n\n";
    }
    out += tunnels(report);
    if (wanted.key_bytes) {
        out += comment(wanted.key_bytes_reason) +
               "key_bytes = " + std::to_string(*wanted.key_bytes) + "\n\n";
    }
    if (!wanted.engine_chosen.empty()) {
        out += comment("With these figures that is " + wanted.engine_chosen + ", in " +
                       format_size(wanted.memory) + ".");
    }
    return out + "engine = " + in_quotes(text_of(wanted.engine)) + "\n\n";
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
    return comment("The capture's interfaces, most echoes first: " + names +
                   (order.size() > kMost ? " and " + format_quantity(order.size() - kMost, "other")
                                         : "") +
                   ".") +
           "#\n";
}

std::string route(const Report& report, std::size_t taps) {
    std::string from;
    for (std::size_t i = 0; i < taps; ++i) {
        from += (i == 0 ? "" : ", ") + in_quotes(port_name(i));
    }
    return "[[route]]\n" + comment(report.recommendation.taps_reason) + "from = [" + from +
           "]\nto = \"tool\"\nfilter = \"echo\"\n";
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
    std::string out = comment(
        "Made by unecho analyze from " + files + ": " +
        format_quantity(report.total.packets, "packet") + ", of which " +
        format_count(report.copied.packets) + " are copies" +
        (wanted.removed_cut.packets == 0
             ? ""
             : " and " + format_count(wanted.removed_cut.packets) + " more are copies cut short") +
        ". This would drop " + format_count(removed) + ", " +
        percent(share(removed, report.total.packets)) + " of all packets.");
    if (!wanted.needed) {
        out += comment(report.not_compared.empty()
                           ? "There is hardly anything to remove here: see whether you need it "
                             "at all."
                           : "Nothing is to be removed of what could be compared.");
    }
    for (const NotCompared& one : report.not_compared) {
        out += comment(std::string(heading_of(one)) + ": " + one.text);
    }
    out += comment(wanted.sure_reason);
    for (const SentAgain& one : report.kinds_sent_again) {
        out += comment("Sent again: " + one.protocol + ", " +
                       format_quantity(one.echoes.packets, "packet") +
                       (one.regular ? ", every " + brief_duration(one.period) + "." : "."));
    }
    return out + "\n";
}

}  // namespace

std::string pcap_options(const Report& report) {
    const Recommendation& wanted = report.recommendation;
    std::string out;
    if (!wanted.tunnels.empty()) {
        out +=
            " " + option::kTunnels + " " + joined(wanted.tunnels, ",") +
            (has_vxlan_ports(report) ? " " + option::kVxlanPorts + " " + ports_text(report) : "") +
            (wanted.tenant == packet::default_tenant(wanted.key)
                 ? ""
                 : " " + option::kTenant + " " + std::string(text_of(wanted.tenant)));
    }
    if (wanted.key_bytes) {
        out += " " + option::kKeyBytes + " " + std::to_string(*wanted.key_bytes);
    }
    if (wanted.repeats == packet::Repeats::kDrop) {
        out += " " + option::kRepeats + " drop";
    }
    if (wanted.point != packet::Point::kLink) {
        out += " " + option::kPoint + " " + std::string(text_of(wanted.point));
    }
    if (wanted.tags != packet::Tags::kIgnore) {
        out += " " + option::kTags + " " + std::string(text_of(wanted.tags));
    }
    if (wanted.same_port) {
        out += " " + option::kSamePort + " " + format_duration(*wanted.same_port);
    }
    if (wanted.second_looks != packet::SecondLooks::kDoubled) {
        out += " " + option::kSecondLooks + " " + std::string(text_of(wanted.second_looks));
    }
    if (wanted.views != 2) {
        out += " " + option::kViews + " " + std::to_string(wanted.views);
    }
    return option::kKey + " " + std::string(packet::name_of(wanted.key)) + " " + option::kWindow +
           " " + (report.appended.packets != 0 ? "inf" : format_duration(wanted.window)) +
           (wanted.policy == engines::Policy::kFixed
                ? ""
                : " " + option::kPolicy + " " + std::string(text_of(wanted.policy))) +
           (wanted.non_ip == packet::NonIp::kPass
                ? ""
                : " " + option::kNonIp + " " + std::string(text_of(wanted.non_ip))) +
           out;
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
