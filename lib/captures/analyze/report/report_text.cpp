// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/report/report_text.h"

#include <algorithm>
#include <string_view>

#include "base/humanize.h"
#include "base/option_names.h"
#include "base/table.h"
#include "base/utf8.h"
#include "captures/analyze/classify/not_compared.h"
#include "captures/analyze/recommend/what_if.h"
#include "captures/analyze/report/text_format.h"
#include "captures/analyze/tally/age_histogram.h"
#include "captures/standard_streams.h"

namespace unecho::analyze {
namespace {

constexpr std::size_t kBar = 32;
constexpr std::size_t kMaxRows = 10;  // of interfaces, crossings, protocols, talkers
constexpr std::size_t kMaxNotes = 20;
constexpr std::size_t kTimeRows = 24;
constexpr std::size_t kMostName = 40;  // length of an interface's name in a table

std::string cell(const Count& count) {
    return format_count(count.packets);
}

std::string window_text(std::optional<Nanoseconds> window) {
    return window ? format_duration(*window) : "no end";
}

std::string section(const std::string& title, const std::string& body) {
    return "\n" + title + "\n" + body;
}

std::string rest(std::size_t all, std::size_t shown, const char* what) {
    return all <= shown ? "" : "  and " + format_quantity(all - shown, what) + "\n";
}

// Return a line for each input, or only their number if there are many.
std::string inputs(const Report& report) {
    const std::vector<FileInfo>& files = report.files;
    const std::string all = format_quantity(report.total.packets, "packet") + ", " +
                            traffic(report.total.bytes, report.captured) + "\n";
    if (files.size() == 1) {
        return capture::input_display_name(files.front().path) + ": " + all;
    }
    if (files.size() > kMaxRows) {
        return format_quantity(files.size(), "input") + ", " +
               capture::input_display_name(files.front().path) + " to " +
               capture::input_display_name(files.back().path) + ": " + all;
    }
    std::string out;
    for (const FileInfo& file : files) {
        out += capture::input_display_name(file.path) + ": " +
               format_quantity(file.total.packets, "packet") + ", " + brief_size(file.total.bytes) +
               " on the wire\n";
    }
    return files.empty() ? out : out + "All together: " + all;
}

std::string sent_again_line(const Report& report) {
    const std::uint64_t again = report.sent_again.packets;
    return again == 0 || any_not_compared(report, NotComparedEffect::kUnknown)
               ? ""
               : format_count(again) + (again == 1 ? " was" : " were") + " sent again, and " +
                     (again == 1 ? "is no copy" : "are no copies") + ".\n";
}

std::string head(const Report& report) {
    std::string out = inputs(report);
    if (report.total.packets == 0) {
        return out + "There are no packets in " + (report.files.size() > 1 ? "them" : "it") + ".\n";
    }
    out += "From " + date_text(report.first_time) + " UTC" + " on, for " +
           brief_duration(report.duration) + ".";
    if (report.non_ip.packets + report.malformed.packets != 0) {
        out += " Without an IP packet to compare: " + cell(report.non_ip) +
               ", malformed: " + cell(report.malformed) + ".";
    }
    if (!report.non_ip_types.empty()) {
        out += " What is not IP: " + engines::text_of(report.non_ip_types) + ".";
    }
    out += "\n";
    for (const NotCompared& one : report.not_compared) {
        out += wrapped(std::string(heading_of(one)) + ": " + one.text, "");
    }
    if (const std::string none = no_verdict(report); !none.empty()) {
        out += "\n" + none + "\n";
        return out + sent_again_line(report);
    }
    out += "\n" + percent(share(report.copied.packets, report.total.packets)) +
           " of the packets are copies of an earlier one";
    out += report.copied.packets == 0
               ? ".\n"
               : ": " + format_count(report.copied.packets) + ", " +
                     brief_size(report.copied.bytes) + " on the wire (" +
                     percent(share(report.copied.bytes, report.total.bytes)) + " of the bytes).\n";
    if (const Count cut = copies_cut_short(report); cut.packets != 0) {
        out += format_quantity(cut.packets, "packet") +
               (cut.packets == 1 ? " more is a copy" : " more are copies") +
               " of one that was captured longer or shorter: see key_bytes.\n";
    }
    return out + sent_again_line(report);
}

std::string warnings(const Report& report) {
    std::string out;
    const std::vector<Note> notes = merge_equal_notes(report.warnings);
    for (std::size_t i = 0; i < std::min(notes.size(), kMaxNotes); ++i) {
        const Note& note = notes[i];
        out += "  " + (note.file.empty() ? "" : capture::input_display_name(note.file) + ": ");
        out += (note.number == 0 ? "" : "packet " + format_count(note.number) + ": ") + note.text;
        out += (note.times == 1 ? "" : " (" + format_count(note.times) + " times)") +
               std::string("\n");
    }
    out += rest(notes.size(), kMaxNotes, "more warning");
    if (report.blind_after) {
        out += "  memory was full: echoes older than " + brief_duration(*report.blind_after) +
               " may have been overlooked; more " + option::kMemory + " helps\n";
    }
    if (report.others_blind_after && *report.others_blind_after < report.recommendation.window) {
        out +=
            "  memory was full: what other keys drop, and look-alikes, may be short of those older "
            "than " +
            brief_duration(*report.others_blind_after) + "; more " + option::kMemory + " helps\n";
    }
    return out.empty() ? "" : section("Note", out);
}

// Join groups of `each` bins, aligned so that each power of ten has equal parts.
std::vector<AgeBin> coarser(const std::vector<AgeBin>& bins, unsigned each) {
    std::vector<AgeBin> out;
    unsigned last = 0;
    for (const AgeBin& bin : bins) {
        const unsigned part = (age_bin(bin.low) + each - age_bin(kSecond) % each) / each;
        if (out.empty() || part != last || bin.low == 0 || out.back().low == 0) {
            out.push_back(bin);
        } else {
            out.back().high = bin.high;
            out.back().echoes += bin.echoes;
        }
        last = part;
    }
    return out;
}

std::vector<AgeBin> without_gaps(const std::vector<AgeBin>& bins) {
    std::vector<AgeBin> out;
    for (const AgeBin& bin : bins) {
        if (bin.echoes == 0 && !out.empty() && out.back().echoes == 0) {
            out.back().high = bin.high;
        } else {
            out.push_back(bin);
        }
    }
    return out;
}

// Return bins as fine as a screen has room for.
std::vector<AgeBin> few_bins(const std::vector<AgeBin>& bins) {
    std::vector<AgeBin> out;
    for (const unsigned each : {1U, 2U, 5U, 10U, 20U}) {
        out = without_gaps(coarser(bins, each));
        if (out.size() <= kTimeRows) {
            break;
        }
    }
    return out;
}

std::string ages(const Report& report) {
    const std::vector<AgeBin> bins = few_bins(report.ages.bins);
    double most = 0;
    for (const AgeBin& bin : bins) {
        most = std::max(most, density(bin, report.ages.resolution));
    }
    TextTable table({">from", ">below", ">copies", ""});
    for (const AgeBin& bin : bins) {
        table.row(
            {brief_duration(bin.low), brief_duration(bin.high), format_count(bin.echoes),
             bin.echoes == 0 ? "..." : bar(density(bin, report.ages.resolution) / most, kBar)});
    }
    return section("Ages of the copies: time since the same packet was there before",
                   table.text() + "  half within " + brief_duration(report.ages.p50) +
                       ", 99 % within " + brief_duration(report.ages.p99) + ", 99.9 % within " +
                       brief_duration(report.ages.p999) + ", the oldest " +
                       brief_duration(report.ages.oldest) + "\n");
}

// "every 10s", "330us to 2.4s"
std::string rhythm(const SentAgain& one) {
    if (one.regular) {
        return "every " + brief_duration(one.period) + ", about";
    }
    const std::string first = brief_duration(one.youngest);
    const std::string last = brief_duration(one.oldest);
    return first == last ? last : first + " to " + last;
}

std::string sent_again_section(const Report& report) {
    if (report.kinds_sent_again.empty()) {
        return "";
    }
    TextTable table({"protocol", ">packets", "after"});
    for (std::size_t i = 0; i < std::min(report.kinds_sent_again.size(), kMaxRows); ++i) {
        const SentAgain& one = report.kinds_sent_again[i];
        table.row({one.protocol, cell(one.echoes), rhythm(one)});
    }
    return section("Sent again, the same: no copies",
                   table.text() + rest(report.kinds_sent_again.size(), kMaxRows, "more protocol"));
}

std::string causes(const Report& report) {
    std::uint64_t copies = 0;
    for (const CauseCount& one : report.causes) {
        copies += one.copied.packets;
    }
    if (copies == 0) {
        return "";
    }
    TextTable table({"reason", ">copies", ">share", "what it is"});
    for (const CauseCount& one : report.causes) {
        if (one.copied.packets != 0) {
            const CauseInfo& info = info_of(one.cause);
            table.row({std::string(info.name), cell(one.copied),
                       percent(share(one.copied.packets, copies)), std::string(info.meaning)});
        }
    }
    std::string fields;
    for (const DifferenceCount& one : report.differences) {
        if (one.copied != 0) {
            fields += (fields.empty() ? "" : ", ") + spaced(info_of(one.difference).name) + " " +
                      format_count(one.copied);
        }
    }
    return section(
        "How copies differ from the first",
        table.text() + (fields.empty() ? "" : "  each difference alone: " + fields + "\n"));
}

std::string loops_section(const Report& report) {
    if (report.loops.empty()) {
        return "";
    }
    TextTable table(
        {"on the link between", "and", ">packets", ">copies", ">TTL falls by", ">round"});
    for (std::size_t i = 0; i < std::min(report.loops.size(), kMaxRows); ++i) {
        const Loop& one = report.loops[i];
        table.row({one.one.empty() ? "no MAC addresses" : one.one, one.other,
                   format_count(one.packets), cell(one.copies), std::to_string(one.step),
                   brief_duration(one.round)});
    }
    return section("Routing loops: packets that come round again with a lower TTL",
                   table.text() + rest(report.loops.size(), kMaxRows, "more link"));
}

// Return why packets were not opened, or not to their end.
std::string not_opened(const TunnelReport& tunnels) {
    std::string out;
    const auto say = [&](std::uint64_t packets, const char* what) {
        if (packets != 0) {
            out += (out.empty() ? "" : ", ") + std::string(what) + " " + format_count(packets);
        }
    };
    say(tunnels.fragments, "fragments of a tunnel's packets");
    say(tunnels.malformed, "cut short or malformed");
    say(tunnels.other, "not with IP inside");
    say(tunnels.too_deep, "more than 8 in one another");
    return out.empty() ? "" : "  not opened to their end: " + out + "\n";
}

std::string tenant_table(const TunnelReport& tunnels) {
    if (tunnels.tenants.empty()) {
        return "";
    }
    TextTable table({"tenant", ">packets", ">bytes", ""});
    for (std::size_t i = 0; i < std::min(tunnels.tenants.size(), kMaxRows); ++i) {
        const TunnelTenant& one = tunnels.tenants[i];
        table.row({one.kind + " " + std::to_string(one.number), format_count(one.packets),
                   brief_size(one.bytes),
                   one.excess == 0 ? "" : "or up to " + format_count(one.excess) + " fewer"});
    }
    return "\n" + table.text() + rest(tunnels.tenants.size(), kMaxRows, "more tenant");
}

std::string tunnels_section(const Report& report) {
    if (!report.tunnels) {
        return "";
    }
    const TunnelReport& all = *report.tunnels;
    TextTable table({"inside", ">packets", ">bytes", ">share"});
    for (std::size_t i = 0; i < std::min(all.stacks.size(), kMaxRows); ++i) {
        const TunnelStack& one = all.stacks[i];
        table.row({one.names.empty() ? "others" : joined(one.names, " > "), cell(one.total),
                   brief_size(one.total.bytes),
                   percent(share(one.total.packets, report.total.packets))});
    }
    TextTable copies({"copies inside tunnels", ">copies"});
    bool any = false;
    for (const TunnelRelationCount& one : all.meetings) {
        if (one.copied.packets != 0) {
            any = true;
            copies.row({std::string(info_of(one.meeting).words), cell(one.copied)});
        }
    }
    return section("Tunnels: what packets are in, the outermost first",
                   table.text() + rest(all.stacks.size(), kMaxRows, "more nesting") +
                       not_opened(all) + tenant_table(all) + (any ? "\n" + copies.text() : ""));
}

std::string look_alikes(const Report& report) {
    const PayloadRetransmissions& found = report.look_alikes;
    return found.segments.packets == 0
               ? ""
               : "\nNo echoes, though they look alike: " + cell(found.segments) + " of " +
                     format_quantity(found.compared, "TCP segment") +
                     (found.segments.packets == 1 ? " carries" : " carry") +
                     " the same data again in another packet (sent again).\n";
}

// Explain tables that count echoes without separating copies from repeats.
std::string both_share(const Report& report) {
    const std::uint64_t copies = std::min(report.copied.packets, report.echoes.packets);
    return copies == report.echoes.packets
               ? ""
               : "  echoes are packets that came again: " + format_count(copies) +
                     (copies == 1 ? " copy and " : " copies and ") +
                     format_count(report.echoes.packets - copies) + " sent again\n";
}

std::string without_packets(std::size_t interfaces) {
    return interfaces == 0
               ? ""
               : "  " + format_quantity(interfaces, "interface") + " without packets left out\n";
}

std::string interfaces(const Report& report) {
    TextTable table({"interface", "link", ">packets", ">copies", ">share"});
    const std::vector<std::size_t> order = order_by_echoes(report.interfaces);
    for (std::size_t i = 0; i < std::min(order.size(), kMaxRows); ++i) {
        const InterfaceInfo& one = report.interfaces[order[i]];
        table.row({shortened(one.name, kMostName), one.link_name, cell(one.total), cell(one.copied),
                   percent(share(one.copied.packets, one.total.packets))});
    }
    std::string out = section(
        "Where", table.text() +
                     rest(count_hidden_interfaces(report, order, kMaxRows), 0, "more interface") +
                     without_packets(report.interfaces.size() - order.size()));
    if (report.interfaces.size() < 2 || report.crossings.empty()) {
        return out;
    }
    std::vector<Crossing> cells = report.crossings;
    std::stable_sort(cells.begin(), cells.end(), [](const Crossing& a, const Crossing& b) {
        return a.echoes.packets > b.echoes.packets;
    });
    TextTable crossing({"first at", "again at", ">echoes", ">share"});
    for (std::size_t i = 0; i < std::min(cells.size(), kMaxRows); ++i) {
        crossing.row({shortened(report.interfaces.at(cells[i].original).name, kMostName),
                      shortened(report.interfaces.at(cells[i].echo).name, kMostName),
                      cell(cells[i].echoes),
                      percent(share(cells[i].echoes.packets, report.echoes.packets))});
    }
    return out + "\n" + crossing.text() + both_share(report) +
           rest(cells.size(), kMaxRows, "more pair");
}

std::string protocols(const Report& report) {
    TextTable table({"protocol", ">packets", ">copies", ">share"});
    for (std::size_t i = 0; i < std::min(report.protocols.size(), kMaxRows); ++i) {
        const ProtocolCount& one = report.protocols[i];
        table.row({one.name, cell(one.total), cell(one.copied),
                   percent(share(one.copied.packets, one.total.packets))});
    }
    return section("Protocols",
                   table.text() + rest(report.protocols.size(), kMaxRows, "more protocol"));
}

std::string talkers(const Report& report) {
    if (report.talkers.empty()) {
        return "";
    }
    TextTable table({"from", "to", ">echoes", ""});
    for (std::size_t i = 0; i < std::min(report.talkers.size(), kMaxRows); ++i) {
        const Talker& one = report.talkers[i];
        table.row({one.source, one.destination, format_count(one.echoes),
                   one.excess == 0 ? "" : "or up to " + format_count(one.excess) + " fewer"});
    }
    return section("Whose packets come again most", table.text() + both_share(report));
}

// Return the capture's time in few parts. Adjacent ones without packets are joined.
std::vector<TimeBin> few_times(const Report& report) {
    const std::size_t each = (report.time.size() + kTimeRows - 1) / kTimeRows;
    std::vector<TimeBin> out;
    for (std::size_t i = 0; i < report.time.size(); i += each) {
        TimeBin sum{report.time[i].start, {}, {}};
        for (std::size_t j = i; j < std::min(i + each, report.time.size()); ++j) {
            sum.total += report.time[j].total;
            sum.echoes += report.time[j].echoes;
        }
        if (sum.total.packets != 0 || out.empty() || out.back().total.packets != 0) {
            out.push_back(sum);
        }
    }
    return out;
}

std::string over_time(const Report& report) {
    if (report.time.size() < 2) {
        return "";
    }
    TextTable table({">at", ">packets", ">echoes", ">share", ""});
    for (const TimeBin& bin : few_times(report)) {
        const double part = share(bin.echoes.packets, bin.total.packets);
        table.row({brief_duration(bin.start), cell(bin.total), cell(bin.echoes), percent(part),
                   bin.total.packets == 0 ? "..." : bar(part, kBar)});
    }
    return section("Over time", table.text() + both_share(report));
}

// Return what key packet drops, with non_ip as recommended.
std::vector<WindowRow> windows_as_recommended(const Report& report) {
    std::vector<WindowRow> rows = report.windows;
    const bool frames = report.recommendation.non_ip == packet::NonIp::kFrame;
    for (std::size_t i = 0; frames && i < std::min(rows.size(), report.basis.frame_windows.size());
         ++i) {
        const WindowRow& more = report.basis.frame_windows[i];
        for (Count WindowRow::*count : {&WindowRow::fixed, &WindowRow::refresh,
                                        &WindowRow::fixed_copied, &WindowRow::refresh_copied}) {
            rows[i].*count += more.*count;
        }
    }
    return rows;
}

// Return "#" for each 32nd of the echoes that is a dropped copy, then "+" for dropped repeats.
std::string drop_bar(const Report& report, const WindowRow& row) {
    const std::uint64_t all = std::max<std::uint64_t>(report.echoes.packets, 1);
    std::string again = bar(share(row.fixed.packets - row.fixed_copied.packets, all), kBar);
    std::replace(again.begin(), again.end(), '#', '+');
    return bar(share(row.fixed_copied.packets, all), kBar) + again;
}

// Show the rows in which something changes, and the recommended one. Without repeats all drops are
// copies, so no column separates them.
std::string windows(const Report& report) {
    const std::vector<WindowRow> rows = windows_as_recommended(report);
    const bool again = !rows.empty() && rows.back().refresh != rows.back().refresh_copied;
    const Recommendation& wanted = report.recommendation;
    bool marked = false;
    TextTable table(
        again ? std::vector<std::string>{">window", ">fixed drops", ">of these copies",
                                         ">refresh drops", ">of these copies", ""}
              : std::vector<std::string>{">window", ">fixed drops", ">refresh drops", ""});
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const WindowRow& row = rows[i];
        const bool recommended = row.window == wanted.window;
        marked = marked || recommended;
        const auto same = [&](const WindowRow& other) {
            return other.fixed == row.fixed && other.refresh == row.refresh;
        };
        const bool dull = i > 0 && i + 1 < rows.size() && same(rows[i - 1]) && same(rows[i + 1]);
        if (dull && !recommended) {
            continue;
        }
        const std::string window = window_text(row.window);
        const std::string drawn = drop_bar(report, row) + (recommended ? " <- recommended" : "");
        if (again) {
            table.row({window, cell(row.fixed), cell(row.fixed_copied), cell(row.refresh),
                       cell(row.refresh_copied), drawn});
        } else {
            table.row({window, cell(row.fixed), cell(row.refresh), drawn});
        }
    }
    const std::string between =
        marked ? ""
               : "  recommended: " + format_duration(wanted.window) + ", between two of these\n";
    return section(std::string("What key \"packet\" ") +
                       (wanted.non_ip == packet::NonIp::kFrame ? "with non_ip \"frame\" " : "") +
                       "drops, by window and policy",
                   table.text() + (again ? "  # copies, + what was sent again\n" : "") + between);
}

std::string modes(const Report& report) {
    TextTable table(
        {"key", ">drops", ">packet passes", ">their bytes on the wire", ">packet alone drops"});
    for (const Mode& mode : report.modes) {
        const ModeRow& row = mode.recommended;
        table.row({std::string(packet::name_of(mode.key)), cell(row.dropped), cell(row.lost),
                   brief_size(row.lost.bytes), cell(row.missed)});
    }
    const bool frames = report.recommendation.non_ip == packet::NonIp::kFrame;
    return section("What each key drops, with window " +
                       window_text(report.modes.front().recommended.window) +
                       (frames ? ", policy fixed and non_ip frame" : " and policy fixed"),
                   table.text());
}

std::string bytes_counted(const std::optional<std::uint32_t>& bytes) {
    return bytes ? format_count(*bytes) : "all";
}

std::string key_bytes(const Report& report) {
    if (!any_key_bytes(report)) {
        return "";
    }
    TextTable table({">bytes", ">copies cut short", ">no copies"});
    for (const KeyBytes& row : report.key_bytes) {
        table.row({format_count(row.bytes), cell(row.cut), cell(row.others)});
    }
    return section(
        "What would be dropped besides, if only so many bytes of a packet counted (key_bytes)",
        table.text());
}

std::string what_if(const Report& report) {
    if (!report.what_if) {
        return "";
    }
    const WhatIf& it = *report.what_if;
    TextTable table({"", ">asked for", ">recommended"});
    table.row({"key", std::string(packet::name_of(it.key)),
               std::string(packet::name_of(report.recommendation.key))});
    table.row({"window", window_text(it.window), format_duration(report.recommendation.window)});
    const Recommendation& wanted = report.recommendation;
    if (!it.tunnels.empty() || !wanted.tunnels.empty()) {
        const auto names = [](const std::vector<std::string>& list) {
            return list.empty() ? std::string("none") : joined(list, ",");
        };
        table.row({"tunnels", names(it.tunnels), names(wanted.tunnels)});
        table.row({"tenant", std::string(text_of(it.tenant)), std::string(text_of(wanted.tenant))});
    }
    if (it.tags != packet::Tags::kIgnore || wanted.tags != packet::Tags::kIgnore) {
        table.row({"tags", std::string(text_of(it.tags)), std::string(text_of(wanted.tags))});
    }
    if (it.key_bytes || wanted.key_bytes) {
        table.row({"key_bytes", bytes_counted(it.key_bytes), bytes_counted(wanted.key_bytes)});
    }
    table.row({"policy", std::string(text_of(it.policy)),
               std::string(text_of(report.recommendation.policy))});
    table.row({"non_ip", std::string(text_of(it.non_ip)),
               std::string(text_of(report.recommendation.non_ip))});
    table.row({"repeats", std::string(text_of(it.repeats)), std::string(text_of(wanted.repeats))});
    for (const RemovalRow& row : kRemovalRows) {
        table.row(
            {std::string(row.text), cell(it.asked.*row.count), cell(it.recommended.*row.count)});
    }
    std::string forgot;
    if (it.forgotten != 0) {
        forgot = "  memory was full: " + format_quantity(it.forgotten, "packet") +
                 " forgotten inside the window; more " + option::kMemory + " helps\n";
    }
    return section("What " + configuration_text(it) + " would do here",
                   table.text() + wrapped(it.verdict, "  ") + forgot);
}

std::string not_needed(const Report& report) {
    if (any_not_compared(report, NotComparedEffect::kUnknown)) {
        return "Whether anything is to be removed cannot be known. If they are copies:";
    }
    if (is_not_compared(report, "clocks")) {
        return "No window removes the copies before the clocks agree. For the rest:";
    }
    if (report.copied.packets == 0 && report.sent_again.packets != 0) {
        const UncertainRepeats& doubtful = report.basis.doubtful;
        return doubtful.doubled != 0 || doubtful.in_storms != 0
                   ? "Not needed, if what came again was sent again (see below):"
                   : "Not needed: what came again was sent again. If you want to be sure:";
    }
    return report.not_compared.empty()
               ? "There is hardly anything to remove here. If you want to be sure:"
               : "Nothing is to be removed of what could be compared. If you want to be sure:";
}

std::string recommendation(const Report& report) {
    const Recommendation& wanted = report.recommendation;
    const auto line = [](const std::string& name, const std::string& value,
                         const std::string& reason) {
        return "  " + name + std::string(16 - name.size(), ' ') + value + "\n" +
               wrapped(reason, "    ");
    };
    std::string out;
    if (!wanted.needed) {
        out = "  " + not_needed(report) + "\n";
    }
    out += line("key", std::string(packet::name_of(wanted.key)), wanted.key_reason) +
           line("window", format_duration(wanted.window), wanted.window_reason) +
           line("rate", format_rate(wanted.rate), wanted.rate_reason) +
           line("policy", std::string(text_of(wanted.policy)), wanted.policy_reason);
    if (!wanted.non_ip_reason.empty()) {
        out += line("non_ip", std::string(text_of(wanted.non_ip)), wanted.non_ip_reason);
    }
    if (!wanted.repeats_reason.empty()) {
        out += line("repeats", std::string(text_of(wanted.repeats)), wanted.repeats_reason);
    }
    if (!wanted.tunnels_reason.empty()) {
        out += line("tunnels", wanted.tunnels.empty() ? "none" : joined(wanted.tunnels, ", "),
                    wanted.tunnels_reason);
    }
    if (!wanted.tenant_reason.empty()) {
        out += line("tenant", std::string(text_of(wanted.tenant)), wanted.tenant_reason);
    }
    if (!wanted.key_bytes_reason.empty()) {
        out += line("key_bytes", wanted.key_bytes ? format_count(*wanted.key_bytes) : "not set",
                    wanted.key_bytes_reason);
    }
    if (!wanted.engine_chosen.empty()) {
        out += line("engine",
                    std::string(text_of(wanted.engine)) + ": " + wanted.engine_chosen + ", " +
                        format_size(wanted.memory),
                    "");
    }
    out += wrapped(wanted.sure_reason, "  ") + wrapped(wanted.taps_reason, "  ");
    out += "  Drops " + format_quantity(wanted.removed.packets, "packet") +
           (report.copied.packets == 0 ? "" : ", " + percent(wanted.covered) + " of the copies") +
           (wanted.removed_cut.packets == 0
                ? ""
                : ", and " + format_count(wanted.removed_cut.packets) + " cut short") +
           ". " + option::kToml + " FILE writes this as a configuration.\n";
    return section("What to configure", out);
}

std::string sections(const Report& report) {
    std::string out = head(report) + warnings(report);
    if (report.total.packets == 0) {
        return out;
    }
    if (!report.ages.bins.empty()) {
        out += ages(report);
    }
    out += tunnels_section(report) + causes(report) + loops_section(report) +
           sent_again_section(report) + look_alikes(report) + interfaces(report) +
           protocols(report);
    if (report.echoes.packets != 0) {
        out += talkers(report) + over_time(report) + windows(report);
    }
    return out + modes(report) + key_bytes(report) + what_if(report) + recommendation(report);
}

}  // namespace

std::string to_text(const Report& report) {
    const std::string text = sections(report);
    std::string out;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = text.find('\n', begin);
        out += printable(std::string_view(text).substr(begin, end - begin)) + "\n";
        begin = end + 1;
    }
    return out;
}

}  // namespace unecho::analyze
