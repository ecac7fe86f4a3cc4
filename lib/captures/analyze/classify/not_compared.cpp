// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/classify/not_compared.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/core.h>

#include "base/humanize.h"
#include "base/option_names.h"
#include "captures/analyze/report/text_format.h"
#include "captures/link_types.h"
#include "packets/link.h"

namespace unecho::analyze {
namespace {

using Effect = NotComparedEffect;

constexpr double kWorthSaying = 0.01;    // share of the packets
constexpr std::uint64_t kMinPairs = 2;   // one may be chance
constexpr double kMinPairShare = 0.001;  // of the packets that were examined

// "60 of 60 packets"
std::string of_all(std::uint64_t packets, std::uint64_t all, std::string_view what = "packet") {
    return fmt::format("{} of {}", format_count(packets), format_quantity(all, what));
}

std::string are(std::uint64_t packets, const char* one, const char* many) {
    return packets == 1 ? one : many;
}

bool worth_saying(const Report& report, std::uint64_t packets) {
    return packets != 0 && share(packets, report.total.packets) >= kWorthSaying;
}

// Return the number of echoes without evidence that they were seen elsewhere.
std::uint64_t identical_echoes(const Report& report) {
    const auto at = static_cast<std::size_t>(Cause::kIdentical);
    return at < report.causes.size() ? report.causes[at].echoes.packets : 0;
}

// Echoes that a router or a tag changed are copies at any age, so they need no times.
void note_no_times(Report& report) {
    if (report.duration == 0 && report.total.packets > 1 &&
        identical_echoes(report) * 2 > report.echoes.packets) {
        const std::uint64_t equal = report.echoes.packets;
        report.not_compared.push_back(
            {"no_times", Effect::kUnknown, equal,
             fmt::format("{} {} an earlier one, and all of them have the same time. Without ages, "
                         "nothing tells copies from what was sent again.",
                         of_all(equal, report.total.packets), are(equal, "equals", "equal"))});
    }
}

// Return true if bytes are the only evidence, and too few packets show how often they repeat.
bool are_too_few(const Report& report) {
    constexpr std::uint64_t kFewPackets = 8;
    constexpr std::uint64_t kFewEchoes = 2;
    const bool crossed = std::any_of(report.crossings.begin(), report.crossings.end(),
                                     [](const Crossing& one) { return one.original != one.echo; });
    return report.total.packets < kFewPackets && report.echoes.packets != 0 &&
           report.echoes.packets <= kFewEchoes && report.appended.packets == 0 && !crossed &&
           identical_echoes(report) == report.echoes.packets;
}

void note_few(Report& report) {
    if (are_too_few(report)) {
        const std::uint64_t equal = report.echoes.packets;
        report.not_compared.push_back(
            {"few_packets", Effect::kUnknown, equal,
             fmt::format("{} {} an earlier one. So few say nothing of how often packets come twice "
                         "here, so {} sent again. Capture some hundred packets.",
                         of_all(equal, report.total.packets), are(equal, "equals", "equal"),
                         are(equal, "it may be a copy or", "these may be copies or"))});
    }
}

void note_short(Report& report) {
    const std::uint64_t equal = report.basis.short_echoes;
    if (!worth_saying(report, equal)) {
        return;
    }
    const bool all = equal == report.echoes.packets;
    report.not_compared.push_back(
        {"short_frames", all ? Effect::kUnknown : Effect::kHidden, equal,
         fmt::format("{} of less than 14 bytes {} an earlier one. Frames without addresses, as "
                     "acknowledgements of IEEE 802.15.4, are equal by chance, so nothing tells "
                     "copies of them.",
                     format_quantity(equal, "frame"), are(equal, "equals", "equal"))});
}

void note_links(Report& report) {
    std::map<std::uint16_t, std::uint64_t> types;
    std::uint64_t packets = 0;
    for (const InterfaceInfo& one : report.interfaces) {
        if (packet::link_type_of(one.link_type) == packet::LinkType::kUnknown &&
            one.total.packets != 0) {
            types[one.link_type] += one.total.packets;
            packets += one.total.packets;
        }
    }
    if (!worth_saying(report, packets)) {
        return;
    }
    constexpr std::size_t kNamed = 2;
    std::string names;
    for (const auto& [type, of_type] : types) {
        names = types.size() > kNamed
                    ? format_quantity(types.size(), "link type")
                    : names + (names.empty() ? "" : " and ") + capture::link_type_text(type);
    }
    report.not_compared.push_back(
        {"link_type", Effect::kHidden, packets,
         fmt::format("{} {} of {}, which has no parser. No IP packet is found in them: only frames "
                     "that are equal in every byte are, with {} frame.",
                     of_all(packets, report.total.packets), are(packets, "is", "are"), names,
                     option::kNonIp)});
}

void note_ether_types(Report& report) {
    constexpr std::size_t kNamed = 3;
    std::string names;
    std::size_t count = 0;
    std::uint64_t packets = 0;
    for (const engines::NonIpTypeCount& one : report.non_ip_types) {
        if (one.name.empty() && (one.type.starts_with("0x") || one.type.starts_with("HDLC 0x"))) {
            packets += one.packets;
            names += ++count > kNamed ? "" : (names.empty() ? "" : ", ") + one.type;
        }
    }
    if (worth_saying(report, packets)) {
        report.not_compared.push_back(
            {"ether_type", Effect::kHidden, packets,
             fmt::format(
                 "{} {} {} ({}{}). No IP packet is looked for behind it, so whole frames are "
                 "compared: copies that differ in a tag are not found.",
                 of_all(packets, report.total.packets), are(packets, "has", "have"),
                 count == 1 ? "an unknown EtherType" : "unknown EtherTypes", names,
                 count > kNamed ? ", ..." : "")});
    }
}

// Return how to open the port, or that unecho does not.
std::string remedy_of(const UdpTunnelInfo& info, const std::string& ports,
                      const std::vector<std::uint16_t>& told) {
    if (info.tunnel == UdpTunnel::kVxlan) {
        std::string all;
        for (const std::uint16_t port : told) {
            all += std::to_string(port) + ",";
        }
        return fmt::format("{} vxlan {} {}{} opens them.", option::kTunnels, option::kVxlanPorts,
                           all, ports);
    }
    return info.usual_port == 0
               ? fmt::format("unecho does not open {}.", info.name)
               : fmt::format("unecho opens {} on port {} alone.", info.name, info.usual_port);
}

// Extrapolate from the packets that were examined to all packets.
std::uint64_t of_whole(const Report& report, std::uint64_t found, std::uint64_t looked_at) {
    const auto all = static_cast<double>(report.total.packets);
    return std::min(report.total.packets,
                    static_cast<std::uint64_t>(std::llround(share(found, looked_at) * all)));
}

void note_udp_tunnels(Report& report, const HiddenCopyCounts& hidden) {
    for (const UdpTunnelInfo& info : kUdpTunnels) {
        std::uint64_t found = 0;
        std::string ports;
        std::size_t count = 0;
        for (const auto& [key, packets] : hidden.tunnels) {
            if (key >> 16 == static_cast<std::uint32_t>(info.tunnel) && packets >= kMinPairs) {
                found += packets;
                ports += (ports.empty() ? "" : ",") + std::to_string(key & UINT16_MAX);
                ++count;
            }
        }
        const std::uint64_t packets = of_whole(report, found, hidden.looked_at);
        if (worth_saying(report, packets)) {
            report.not_compared.push_back(
                {"udp_tunnel", Effect::kHidden, packets,
                 of_all(packets, report.total.packets) + " " + are(packets, "looks", "look") +
                     " like " + std::string(info.name) + " on UDP port" +
                     (count == 1 ? " " : "s ") + ports + ", and " + are(packets, "is", "are") +
                     " compared unopened. " + remedy_of(info, ports, report.basis.vxlan_ports)});
        }
    }
}

void note_tunnels(Report& report) {
    if (!report.tunnels) {
        return;
    }
    const TunnelReport& tunnels = *report.tunnels;
    std::uint64_t packets = 0;
    std::string reasons;
    const auto add = [&](std::uint64_t count, const char* what) {
        packets += count;
        reasons += count == 0 ? "" : (reasons.empty() ? "" : ", ") + format_count(count) + what;
    };
    add(tunnels.fragments, " fragments (reassemble them first)");
    add(tunnels.malformed, " cut short or malformed (capture longer packets)");
    add(tunnels.other, " without IP inside");
    add(tunnels.too_deep, " more than 8 deep");
    if (worth_saying(report, packets)) {
        report.not_compared.push_back({"tunnel", Effect::kHidden, packets,
                                       fmt::format("{} {} in tunnels that were not opened to their "
                                                   "end: {}. The packet around is compared.",
                                                   of_all(packets, report.total.packets),
                                                   are(packets, "is", "are"), reasons)});
    }
}

void note_malformed(Report& report, const HiddenCopyCounts& hidden) {
    const std::uint64_t packets = report.malformed.packets;
    if (!worth_saying(report, packets)) {
        return;
    }
    const bool empty = hidden.empty >= packets;
    report.not_compared.push_back(
        {"malformed", Effect::kHidden, packets,
         of_all(packets, report.total.packets) + " " + are(packets, "is", "are") +
             (empty ? " empty: no byte was captured, so there is nothing to compare."
                    : " cut short or damaged within the headers, and so never compared. Capture "
                      "more bytes of each.")});
}

// Ports do not distinguish segments. Without longer packets, nothing is lost by that.
void note_cut_headers(Report& report, const HiddenCopyCounts& hidden) {
    const std::uint64_t packets = of_whole(report, hidden.headless, hidden.looked_at);
    const bool found = report.recommendation.key_bytes.has_value();
    if (!report.basis.key_bytes.empty() && !found && worth_saying(report, packets)) {
        report.not_compared.push_back(
            {"cut_headers", Effect::kHidden, packets,
             fmt::format("{} {} cut short within the TCP or UDP header, and so {} compared with no "
                         "longer copy. Capture more bytes of each.",
                         of_all(packets, report.total.packets), are(packets, "is", "are"),
                         are(packets, "is", "are"))});
    }
}

void note_clocks_apart(Report& report) {
    std::uint64_t packets = 0;
    for (const ClockShift& one : report.clock_shifts) {
        packets += one.packets;
    }
    if (packets != 0 && !report.recommendation.needed) {
        const ClockShift& first = report.clock_shifts.front();
        report.not_compared.push_back(
            {"clocks", Effect::kStays, packets,
             fmt::format("{} {} of one about {} before at another interface: the clocks differ, "
                         "and no window is so long. Bring the clocks together first.",
                         format_quantity(packets, "packet"),
                         are(packets, "is a copy", "are copies"), brief_duration(first.age))});
    }
}

bool are_pairs(std::uint64_t found, std::uint64_t all) {
    return found >= kMinPairs && share(found, all) >= kMinPairShare;
}

void note_nat(Report& report, const HiddenCopyCounts& hidden) {
    if (are_pairs(hidden.translated, hidden.identified)) {
        report.not_compared.push_back(
            {"nat", Effect::kStays, hidden.translated,
             fmt::format("{} came before with other addresses or ports: the same IP ID, protocol, "
                         "length and payload, and a TTL that differs by {}. These are both sides "
                         "of a NAT, and stay, as addresses are compared.",
                         of_all(hidden.translated, hidden.identified, "IPv4 packet"),
                         hidden.ttl_step)});
    }
}

void note_merged_segments(Report& report, const HiddenCopyCounts& hidden) {
    if (are_pairs(hidden.merged, hidden.segments)) {
        report.not_compared.push_back(
            {"merged_segments", Effect::kStays, hidden.merged,
             fmt::format("{} {} the bytes of several others within {}: a card merged them (GRO, "
                         "LRO) or cut them (TSO). They are other packets, and stay; `ethtool -K "
                         "DEV gro off lro off tso off` avoids them.",
                         of_all(hidden.merged, hidden.segments, "TCP segment"),
                         are(hidden.merged, "holds", "hold"),
                         brief_duration(hidden.merged_within))});
    }
}

}  // namespace

void note_not_compared(Report& report, const HiddenCopyCounts& hidden) {
    note_no_times(report);
    note_few(report);
    note_short(report);
    note_links(report);
    note_ether_types(report);
    note_udp_tunnels(report, hidden);
    note_tunnels(report);
    note_malformed(report, hidden);
    note_cut_headers(report, hidden);
    note_clocks_apart(report);
    note_nat(report, hidden);
    note_merged_segments(report, hidden);
}

bool any_not_compared(const Report& report, NotComparedEffect effect) noexcept {
    return std::any_of(report.not_compared.begin(), report.not_compared.end(),
                       [&](const NotCompared& one) { return one.effect == effect; });
}

bool is_not_compared(const Report& report, std::string_view what) noexcept {
    return std::any_of(report.not_compared.begin(), report.not_compared.end(),
                       [&](const NotCompared& one) { return one.what == what; });
}

bool is_redundant(const Report& report, const Note& note) noexcept {
    return !note.what.empty() && is_not_compared(report, note.what);
}

std::string no_verdict(const Report& report) {
    if (any_not_compared(report, Effect::kUnknown)) {
        return "Whether there are copies cannot be known.";
    }
    if (report.copied.packets != 0 || copies_cut_short(report).packets != 0) {
        return "";
    }
    return any_not_compared(report, Effect::kHidden)  ? "No copies among what could be compared."
           : any_not_compared(report, Effect::kStays) ? "No copies that unecho removes."
                                                      : "";
}

std::string_view heading_of(const NotCompared& one) noexcept {
    switch (one.effect) {
        case Effect::kUnknown:
            return "Not known";
        case Effect::kHidden:
            return "Not compared";
        case Effect::kStays:
            break;
    }
    return "Not removed";
}

std::string shift_command(const Report& report) {
    if (!is_not_compared(report, "clocks")) {
        return "";
    }
    const ClockShift& shift = report.clock_shifts.front();
    const std::uint32_t from = report.interfaces.at(shift.original).file;
    const std::uint32_t to = report.interfaces.at(shift.echo).file;
    return from == to || to >= report.files.size()
               ? ""
               : fmt::format("editcap -t -{:.6g} {} shifted.pcap",
                             static_cast<double>(shift.age) / 1e9,
                             shell_word(report.files[to].path));
}

}  // namespace unecho::analyze
