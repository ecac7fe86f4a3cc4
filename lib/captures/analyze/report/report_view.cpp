// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/report/report_view.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>

#include "base/humanize.h"
#include "base/join_text.h"
#include "base/option_names.h"
#include "base/utf8.h"
#include "captures/analyze/classify/not_compared.h"
#include "captures/analyze/recommend/what_if.h"
#include "captures/analyze/report/report_text.h"
#include "captures/analyze/report/report_toml.h"
#include "captures/analyze/report/text_format.h"
#include "captures/analyze/tally/age_histogram.h"
#include "captures/standard_streams.h"

namespace unecho::analyze {
namespace {

constexpr std::size_t kMaxRows = 10;    // of tables whose length depends on the capture
constexpr std::size_t kChartRows = 24;  // of tables over time and age
constexpr std::size_t kMaxNotes = 20;
constexpr std::size_t kMaxKinds = 3;  // of packets that were sent again, in a sentence
constexpr std::size_t kMaxFiles = 4;  // in a command on one line
constexpr std::size_t kMaxName = 40;  // bytes of an interface's name in a table

Cell figure(const std::string& name, std::uint64_t packets) {
    return {format_count(packets), name, packets};
}

Cell figure(const std::string& name, const Count& count) {
    return figure(name + ".packets", count.packets);
}

Cell size_figure(const std::string& name, std::uint64_t bytes) {
    return {brief_size(bytes), name, bytes};
}

Cell age_figure(const std::string& name, Nanoseconds age) {
    return {brief_duration(age), name, age};
}

Cell harm(Cell cell) {
    cell.harm = cell.value != 0;
    return cell;
}

std::string share_text(std::uint64_t part, std::uint64_t all) {
    return percent(share(part, all));
}

std::string indexed(const std::string& list, std::size_t i, const char* member) {
    return list + "." + std::to_string(i) + member;
}

// Add a row for each of the first elements: make(element, index). what: names those left out.
template <typename List, typename Make>
Table with_rows(Table table, const List& all, std::string_view what, Make make) {
    const std::size_t shown = std::min(all.size(), kMaxRows);
    for (std::size_t i = 0; i < shown; ++i) {
        table.rows.push_back(make(all[i], i));
    }
    if (all.size() > shown) {
        table.rest = "and " + format_quantity(all.size() - shown, "more " + std::string(what));
    }
    return table;
}

void put(std::vector<Block>& blocks, std::string text, Tone tone = Tone::kPlain) {
    if (!text.empty()) {
        blocks.emplace_back(Paragraph{std::move(text), tone});
    }
}

void put(std::vector<Block>& blocks, Table table) {
    if (!table.rows.empty()) {
        blocks.emplace_back(std::move(table));
    }
}

// Explain tables that count echoes without separating copies from repeats.
void put_what_echoes_are(std::vector<Block>& blocks, const Report& report) {
    const std::uint64_t copies = std::min(report.copied.packets, report.echoes.packets);
    if (copies != report.echoes.packets) {
        put(blocks,
            fill("Echoes are packets that came again: {} and {} sent again.",
                 {format_quantity(copies, "copy"), format_count(report.echoes.packets - copies)}),
            Tone::kSmall);
    }
}

std::string memory_was_full(const std::string& what) {
    return fill("Memory was full: {}; more {} helps.", {what, option::kMemory});
}

// ---- the answer ---------------------------------------------------------------------------------

std::string title_of(const Report& report) {
    if (report.files.empty()) {
        return "Echoes";
    }
    return "Echoes in " + capture::input_display_name(report.files.front().path) +
           (report.files.size() == 1 ? ""
                                     : " and " + format_count(report.files.size() - 1) + " more");
}

std::string each_came_once(const Report& report) {
    return report.total.packets < 2    ? ""
           : report.keyed.packets == 0 ? "None of the packets has a key to compare."
           : report.keyed.packets == 1
               ? "Only one of the packets has a key to compare."
               : "Each of the " + format_quantity(report.keyed.packets, "packet") +
                     " that have a key came once.";
}

std::string lead(const Report& report) {
    if (any_not_compared(report, NotComparedEffect::kUnknown)) {
        return "";
    }
    std::string out;
    const auto say = [&out](const std::string& sentence) {
        out += (out.empty() || sentence.empty() ? "" : " ") + sentence;
    };
    if (report.copied.packets != 0) {
        say(report.ages.oldest == 0
                ? "All copies were captured at the same time as their packets."
                : fill("Half of the copies follow within {}, the last after {}.",
                       {brief_duration(report.ages.p50), brief_duration(report.ages.oldest)}));
        if (!report.recommendation.needed) {
            say(is_not_compared(report, "clocks")
                    ? "No window removes them before the clocks agree."
                    : "There is nothing worth removing.");
        }
    }
    say(copies_cut_sentence(report));
    say(sent_again_sentence(report));
    return out.empty() ? each_came_once(report) : out;
}

std::string removed_share(const Report& report) {
    return share_text(std::min(report.recommendation.removed.packets, report.copied.packets),
                      report.copied.packets);
}

Facts key_figures(const Report& report) {
    const Recommendation& wanted = report.recommendation;
    Facts out{Facts::Look::kTiles};
    if (report.copied.packets == 0 || any_not_compared(report, NotComparedEffect::kUnknown)) {
        return out;
    }
    out.facts.push_back({"copies", figure("copied", report.copied),
                         share_text(report.copied.packets, report.total.packets) + " of " +
                             format_quantity(report.total.packets, "packet")});
    out.facts.push_back({"what they cost", size_figure("copied.bytes", report.copied.bytes),
                         share_text(report.copied.bytes, report.total.bytes) + " of " +
                             brief_size(report.total.bytes) + " on the wire"});
    if (wanted.needed) {
        out.facts.push_back({"recommended window",
                             age_figure("recommendation.window_ns", wanted.window),
                             "key " + std::string(packet::name_of(wanted.key)) + ", removes " +
                                 removed_share(report) + " of the copies"});
    }
    return out;
}

// What to know before believing the numbers.
void put_doubts(std::vector<Block>& blocks, const Report& report) {
    if (report.blind_after) {
        put(blocks,
            memory_was_full("echoes older than " + brief_duration(*report.blind_after) +
                            " may have been overlooked"),
            Tone::kWarning);
    }
    if (report.others_blind_after && *report.others_blind_after < report.recommendation.window) {
        put(blocks,
            memory_was_full("what other keys drop, and look-alikes, may be short of those older "
                            "than " +
                            brief_duration(*report.others_blind_after)),
            Tone::kWarning);
    }
    if (!report.warnings.empty()) {
        put(blocks,
            format_quantity(merge_equal_notes(report.warnings).size(), "warning") +
                " about the capture, at the end.",
            Tone::kWarning);
    }
}

std::vector<Block> answer(const Report& report) {
    std::vector<Block> out;
    if (const Remedy what = remedy(report); !what.command.empty()) {
        const bool many = report.files.size() > kMaxFiles;
        out.emplace_back(Code{"remove", what.purpose, what.command,
                              many ? remove_command(report, kMaxFiles) : ""});
    }
    for (const NotCompared& one : report.not_compared) {
        put(out, text_of(one), Tone::kWarning);
    }
    put(out, lead(report), Tone::kLead);
    if (Facts figures = key_figures(report); !figures.facts.empty()) {
        out.emplace_back(std::move(figures));
    }
    put_doubts(out, report);
    return out;
}

// ---- the capture --------------------------------------------------------------------------------

std::string per_second(double value, const char* unit) {
    std::string size = brief_size(to_whole(value));
    size.pop_back();  // the B of bytes
    return (value < 1000 ? format_number("%.3g ", value) : size) + unit;
}

std::string average_rates(const Report& report) {
    const double seconds = static_cast<double>(report.duration) / 1e9;
    return per_second(static_cast<double>(report.total.packets) / seconds, "pps") + ", " +
           per_second(static_cast<double>(report.total.bytes) * 8 / seconds, "bit/s");
}

// Return how many keys came once, twice and more often.
std::string key_times(const Report& report) {
    const auto& times = report.key_times;
    std::string out;
    const auto say = [&out](std::uint64_t count, const char* often) {
        out += count == 0 ? "" : (out.empty() ? "" : ", ") + format_count(count) + often;
    };
    say(times[0], " once");
    say(times[1], " twice");
    say(std::accumulate(times.begin() + 2, times.end(), std::uint64_t{0}), " more than twice");
    return out;
}

Section facts_section(const Report& report) {
    Section out{"facts", "What was captured"};
    Facts all;
    const auto say = [&all](std::string name, Cell value, std::string detail = "") {
        all.facts.push_back({std::move(name), std::move(value), std::move(detail)});
    };
    say("packets", figure("total", report.total));
    say("on the wire", size_figure("total.bytes", report.total.bytes));
    say("captured", size_figure("captured_bytes", report.captured));
    say("from (UTC)", date_text(report.first_time));
    say("duration",
        report.duration == 0 ? "all at the same time" : brief_duration(report.duration));
    if (has_rate(report)) {
        say("on average", average_rates(report));
    }
    say("with a key", figure("keyed", report.keyed));
    say("without IP", figure("non_ip", report.non_ip),
        report.non_ip_types.empty() ? "" : engines::text_of(report.non_ip_types));
    say("malformed", figure("malformed", report.malformed));
    say(report.blind_after ? "different ones, at most" : "different ones",
        figure("keys", report.keys));
    if (report.echoes.packets != 0) {
        say("these came", key_times(report));
    }
    out.blocks.emplace_back(std::move(all));
    if (report.files.size() > 1) {
        put(out.blocks,
            with_rows({.columns = {"input", ">packets", ">on the wire", ">copies"}}, report.files,
                      "input", [](const FileInfo& file, std::size_t i) -> Row {
                          return {
                              {shortened(capture::input_display_name(file.path), kMaxName),
                               figure(indexed("files", i, ".total"), file.total),
                               size_figure(indexed("files", i, ".total.bytes"), file.total.bytes),
                               figure(indexed("files", i, ".copied"), file.copied)}};
                      }));
    }
    return out;
}

// ---- ages and windows ---------------------------------------------------------------------------

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
        if (out.size() <= kChartRows) {
            break;
        }
    }
    return out;
}

Section ages_section(const Report& report) {
    Section out{"ages", "How old are they?"};
    const Ages& ages = report.ages;
    if (ages.bins.empty()) {
        return out;
    }
    put(out.blocks, "The time from a packet to its copy.");
    const std::vector<AgeBin> bins = few_bins(ages.bins);
    double most = 0;
    for (const AgeBin& bin : bins) {
        most = std::max(most, density(bin, ages.resolution));
    }
    Table table{.title = "The ages as a table",
                .columns = {">from", ">below", ">copies"},
                .chart = Chart::kAges};
    for (const AgeBin& bin : bins) {
        table.rows.push_back(
            {{brief_duration(bin.low), brief_duration(bin.high), format_count(bin.echoes)},
             "",
             {density(bin, ages.resolution) / most, 0},
             bin.echoes == 0});
    }
    put(out.blocks, std::move(table));
    out.blocks.emplace_back(Facts{Facts::Look::kList,
                                  {{"youngest", age_figure("ages.youngest_ns", ages.youngest)},
                                   {"half within", age_figure("ages.p50_ns", ages.p50)},
                                   {"99 %", age_figure("ages.p99_ns", ages.p99)},
                                   {"99.9 %", age_figure("ages.p999_ns", ages.p999)},
                                   {"oldest", age_figure("ages.oldest_ns", ages.oldest)}}});
    return out;
}

std::string window_text(std::optional<Nanoseconds> window) {
    return window ? format_duration(*window) : "no end";
}

std::string window_sentence(const Report& report) {
    const Recommendation& wanted = report.recommendation;
    return (wanted.needed ? "A window of " + brief_duration(wanted.window) + " removes " +
                                removed_share(report) + " of the copies; a longer one costs memory."
                          : "What key packet would drop with each window.") +
           (wanted.non_ip == packet::NonIp::kFrame
                ? " Frames without an IP packet are counted as with non_ip frame."
                : "");
}

// The rows in which something changes, and the recommended one. Without repeats all drops are
// copies, so no column separates them.
Section windows_section(const Report& report) {
    Section out{"windows", "Which window?"};
    const std::vector<WindowRow> rows = windows_as_recommended(report);
    if (report.echoes.packets == 0 || rows.empty()) {
        return out;
    }
    const bool again = rows.back().fixed != rows.back().fixed_copied ||
                       rows.back().refresh != rows.back().refresh_copied;
    const Recommendation& wanted = report.recommendation;
    Table table{.title = "The windows as a table: what each policy drops",
                .columns = {">window", ">fixed drops", ">refresh drops"},
                .chart = Chart::kWindows};
    if (again) {
        table.columns = {">window", ">fixed drops", ">of these copies", ">refresh drops",
                         ">of these copies"};
    }
    bool marked = false;
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
        // With frames added, these are no figures of the JSON.
        const auto cell = [&](const char* name, const Count& count) {
            return wanted.non_ip == packet::NonIp::kFrame
                       ? Cell(format_count(count.packets))
                       : figure(indexed("windows", i, name), count);
        };
        Row shown{{window_text(row.window), cell(".fixed", row.fixed)}};
        if (again) {
            shown.cells.push_back(cell(".fixed_copied", row.fixed_copied));
        }
        shown.cells.push_back(cell(".refresh", row.refresh));
        if (again) {
            shown.cells.push_back(cell(".refresh_copied", row.refresh_copied));
        }
        shown.note = recommended ? "recommended" : "";
        shown.bar = {share(row.fixed_copied.packets, report.echoes.packets),
                     share(row.fixed.packets - row.fixed_copied.packets, report.echoes.packets)};
        table.rows.push_back(std::move(shown));
    }
    put(out.blocks, window_sentence(report));
    put(out.blocks, std::move(table));
    if (!marked) {
        put(out.blocks,
            "Recommended: " + format_duration(wanted.window) + ", between two of the table.",
            Tone::kSmall);
    }
    return out;
}

// ---- reasons ------------------------------------------------------------------------------------

Section causes_section(const Report& report) {
    Section out{"causes", "Why are they there?"};
    std::uint64_t copies = 0;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < report.causes.size(); ++i) {
        copies += report.causes[i].copied.packets;
        if (report.causes[i].copied.packets != 0) {
            order.push_back(i);
        }
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return report.causes[a].copied.packets > report.causes[b].copied.packets;
    });
    if (copies != 0) {
        put(out.blocks, "What differs between a copy and the first packet with its key.");
    }
    Table causes{.columns = {"reason", ">copies", ">share"}, .notes = "what it is"};
    for (const std::size_t i : order) {
        const CauseCount& one = report.causes[i];
        const CauseInfo& info = info_of(one.cause);
        causes.rows.push_back({{info.name, figure(indexed("causes", i, ".copied"), one.copied),
                                share_text(one.copied.packets, copies)},
                               std::string(info.meaning),
                               {share(one.copied.packets, copies), 0}});
    }
    put(out.blocks, std::move(causes));
    Table differences{.title = "What differs, each counted alone",
                      .columns = {"difference", ">copies", ">share"},
                      .folded = true};
    for (std::size_t i = 0; i < report.differences.size(); ++i) {
        const DifferenceCount& one = report.differences[i];
        if (one.copied != 0) {
            differences.rows.push_back({{info_of(one.difference).words,
                                         figure(indexed("differences", i, ".copied"), one.copied),
                                         share_text(one.copied, copies)}});
        }
    }
    put(out.blocks, std::move(differences));
    put(out.blocks,
        with_rows(
            {.title = "Routing loops: packets that come round again with a lower TTL",
             .columns = {"on the link between", ">packets", ">copies", ">TTL falls by", ">round"}},
            report.loops, "link", [](const Loop& one, std::size_t i) -> Row {
                return {{one.one.empty() ? "no MAC addresses" : one.one + " " + one.other,
                         figure(indexed("loops", i, ".packets"), one.packets),
                         figure(indexed("loops", i, ".copies"), one.copies),
                         std::to_string(one.step), brief_duration(one.round)}};
            }));
    return out;
}

// "every 10s, about", "330us to 2.4s"
std::string rhythm(const SentAgain& one) {
    const std::string first = brief_duration(one.youngest);
    const std::string last = brief_duration(one.oldest);
    return one.regular     ? "every " + brief_duration(one.period) + ", about"
           : first == last ? last
                           : first + " to " + last;
}

Section repeats_section(const Report& report) {
    Section out{"repeats", "What was sent again?"};
    if (!report.kinds_sent_again.empty()) {
        put(out.blocks, "Equal packets that their senders sent again: they are no copies.");
    }
    put(out.blocks,
        with_rows({.columns = {"protocol", ">packets", "after"}}, report.kinds_sent_again,
                  "protocol", [](const SentAgain& one, std::size_t i) -> Row {
                      return {{one.protocol, figure(indexed("repeats", i, ".echoes"), one.echoes),
                               rhythm(one)}};
                  }));
    const PayloadRetransmissions& alike = report.look_alikes;
    if (alike.segments.packets != 0) {
        put(out.blocks,
            fill("They only look alike: {} of {} {} the data of an earlier one in a new packet. "
                 "These retransmissions are no echoes, and are not removed.",
                 {format_count(alike.segments.packets),
                  format_quantity(alike.compared, "TCP segment"),
                  alike.segments.packets == 1 ? "carries" : "carry"}));
    }
    return out;
}

// Return why packets were not opened, or not to their end.
std::string not_opened(const TunnelReport& tunnels) {
    std::string out;
    const auto say = [&](std::uint64_t packets, const char* what) {
        if (packets != 0) {
            out += (out.empty() ? "" : ", ") + format_count(packets) + " " + what;
        }
    };
    say(tunnels.fragments, "fragments of a tunnel's packets");
    say(tunnels.malformed, "cut short or malformed");
    say(tunnels.other, "not with IP inside");
    say(tunnels.too_deep, "in more than 8 tunnels");
    return out.empty() ? "" : "Not opened to their end: " + out + ".";
}

Section tunnels_section(const Report& report) {
    Section out{"tunnels", "In which tunnels?"};
    if (!report.tunnels) {
        return out;
    }
    const TunnelReport& all = *report.tunnels;
    if (all.opened.packets != 0) {
        put(out.blocks,
            fill("{} of the packets {} inside a tunnel; {} {} found only by looking into it.",
                 {share_text(all.opened.packets, report.total.packets),
                  all.opened.packets == 1 ? "is" : "are",
                  format_quantity(all.needing.packets, "copy"),
                  all.needing.packets == 1 ? "is" : "are"}));
    }
    put(out.blocks, not_opened(all));
    put(out.blocks,
        with_rows({.columns = {"inside, the outermost first", ">packets", ">bytes", ">share"}},
                  all.stacks, "nesting", [&](const TunnelStack& one, std::size_t i) -> Row {
                      return {{one.names.empty() ? "others" : join_text(one.names, " > "),
                               figure(indexed("tunnels.stacks", i, ".total"), one.total),
                               brief_size(one.total.bytes),
                               share_text(one.total.packets, report.total.packets)},
                              "",
                              {share(one.total.packets, report.total.packets), 0}};
                  }));
    Table copies{.columns = {"copies inside tunnels", ">copies"}};
    for (std::size_t i = 0; i < all.meetings.size(); ++i) {
        const TunnelRelationCount& one = all.meetings[i];
        if (one.copied.packets != 0) {
            copies.rows.push_back(
                {{info_of(one.meeting).words,
                  figure(indexed("tunnels.meetings", i, ".copied"), one.copied)}});
        }
    }
    put(out.blocks, std::move(copies));
    put(out.blocks,
        with_rows({.columns = {"tenant", ">packets", ">bytes"}}, all.tenants, "tenant",
                  [](const TunnelTenant& one, std::size_t i) -> Row {
                      return {{one.kind + " " + std::to_string(one.number),
                               figure(indexed("tunnels.tenants", i, ".packets"), one.packets),
                               brief_size(one.bytes)},
                              one.excess == 0
                                  ? ""
                                  : "at least " + format_count(one.packets - one.excess)};
                  }));
    return out;
}

// ---- places and times ---------------------------------------------------------------------------

// "2 eth1": the number that the matrix has at its columns; a single interface has none.
std::string interface_name(const Report& report, std::size_t i) {
    return (report.interfaces.size() < 2 ? "" : std::to_string(i + 1) + " ") +
           shortened(report.interfaces[i].name, kMaxName);
}

Table crossings_table(const Report& report) {
    std::vector<Crossing> cells = report.crossings;
    std::erase_if(cells, [&](const Crossing& one) {
        return std::max(one.original, one.echo) >= report.interfaces.size();
    });
    std::stable_sort(cells.begin(), cells.end(), [](const Crossing& a, const Crossing& b) {
        return a.echoes.packets > b.echoes.packets;
    });
    return with_rows(
        {.title = "The pairs as a table",
         .columns = {"first at", "again at", ">echoes", ">share"},
         .chart = Chart::kCrossings},
        cells, "pair", [&](const Crossing& one, std::size_t) -> Row {
            return {{interface_name(report, one.original), interface_name(report, one.echo),
                     format_count(one.echoes.packets),
                     share_text(one.echoes.packets, report.echoes.packets)}};
        });
}

std::string crossings_sentence(const Report& report) {
    std::uint64_t same = 0;
    for (const Crossing& one : report.crossings) {
        same += one.original == one.echo ? one.echoes.packets : 0;
    }
    const std::uint64_t all = report.echoes.packets;
    return same == all ? "Every echo came from the interface that its packet came from."
           : same == 0 ? "Every echo came from another interface than its packet."
                       : share_text(all - std::min(same, all), all) +
                             " of the echoes came from another interface than their packets.";
}

Section places_section(const Report& report) {
    const bool crossed = report.interfaces.size() > 1 && report.echoes.packets != 0;
    Section out{"places", crossed ? "From where to where?" : "Where?"};
    if (crossed) {
        put(out.blocks, crossings_sentence(report));
        put(out.blocks, crossings_table(report));
        put_what_echoes_are(out.blocks, report);
    }
    const std::vector<std::size_t> order = order_by_echoes(report.interfaces);
    Table table =
        with_rows({.columns = {"interface", ">packets", ">copies", ">share"}, .notes = "link"},
                  order, "interface", [&](std::size_t i, std::size_t) -> Row {
                      const InterfaceInfo& one = report.interfaces[i];
                      return {{interface_name(report, i),
                               figure(indexed("interfaces", i, ".total"), one.total),
                               figure(indexed("interfaces", i, ".copied"), one.copied),
                               share_text(one.copied.packets, one.total.packets)},
                              one.link_name};
                  });
    if (const std::size_t hidden = count_hidden_interfaces(report, order, kMaxRows); hidden != 0) {
        table.rest = "and " + format_quantity(hidden, "more interface");
    }
    if (const std::size_t empty = report.interfaces.size() - order.size(); empty != 0) {
        table.rest += (table.rest.empty() ? "" : ", and ") + format_quantity(empty, "interface") +
                      " without packets";
    }
    put(out.blocks, std::move(table));
    return out;
}

Section protocols_section(const Report& report) {
    Section out{"protocols", "Which protocols?"};
    put(out.blocks,
        with_rows({.columns = {"protocol", ">packets", ">copies", ">share"}}, report.protocols,
                  "protocol", [](const ProtocolCount& one, std::size_t i) -> Row {
                      const double copied = share(one.copied.packets, one.total.packets);
                      return {
                          {one.name, figure(indexed("protocols", i, ".total"), one.total),
                           figure(indexed("protocols", i, ".copied"), one.copied), percent(copied)},
                          "",
                          {copied, 0}};
                  }));
    return out;
}

// Return the capture's time in few parts. Adjacent ones without packets are joined.
std::vector<TimeBin> few_times(const std::vector<TimeBin>& time) {
    const std::size_t each = (time.size() + kChartRows - 1) / kChartRows;
    std::vector<TimeBin> out;
    for (std::size_t i = 0; i < time.size(); i += each) {
        TimeBin sum{time[i].start, {}, {}};
        for (std::size_t j = i; j < std::min(i + each, time.size()); ++j) {
            sum.total += time[j].total;
            sum.echoes += time[j].echoes;
        }
        if (sum.total.packets != 0 || out.empty() || out.back().total.packets != 0) {
            out.push_back(sum);
        }
    }
    return out;
}

Section time_section(const Report& report) {
    Section out{"time", "When?"};
    if (report.time_bin == 0 || report.time.size() < 2) {
        return out;
    }
    Table table{.title = "The time as a table",
                .columns = {">at", ">packets", ">echoes", ">share"},
                .chart = Chart::kTime};
    for (const TimeBin& bin : few_times(report.time)) {
        const double part = share(bin.echoes.packets, bin.total.packets);
        table.rows.push_back({{brief_duration(bin.start), format_count(bin.total.packets),
                               format_count(bin.echoes.packets), percent(part)},
                              "",
                              {part, 0},
                              bin.total.packets == 0});
    }
    put(out.blocks, std::move(table));
    put_what_echoes_are(out.blocks, report);
    return out;
}

Section talkers_section(const Report& report) {
    Section out{"talkers", "Whose packets?"};
    if (report.talkers.empty()) {
        return out;
    }
    const std::uint64_t most = report.talkers.front().echoes;
    put(out.blocks,
        with_rows({.columns = {"from and to", ">echoes", ">bytes"}}, report.talkers, "pair",
                  [&](const Talker& one, std::size_t i) -> Row {
                      return {{one.source + " to " + one.destination,
                               figure(indexed("talkers", i, ".echoes"), one.echoes),
                               brief_size(one.bytes)},
                              one.excess == 0
                                  ? ""
                                  : "at least " + format_count(one.echoes - one.excess) + " echoes",
                              {share(one.echoes, most), 0}};
                  }));
    put_what_echoes_are(out.blocks, report);
    return out;
}

// ---- configurations -----------------------------------------------------------------------------

std::string worst_mode(const Report& report) {
    const auto worst = std::max_element(
        report.modes.begin(), report.modes.end(), [](const Mode& a, const Mode& b) {
            return a.recommended.lost.packets < b.recommended.lost.packets;
        });
    const Count& lost = worst->recommended.lost;
    return lost.packets == 0
               ? ""
               : fill(
                     "Key {} would drop {} that {}, {} on the wire: {} of all packets would be "
                     "lost.",
                     {std::string(packet::name_of(worst->key)),
                      format_quantity(lost.packets, "packet"),
                      lost.packets == 1 ? "is no copy" : "are no copies", brief_size(lost.bytes),
                      share_text(lost.packets, report.total.packets)});
}

Section modes_section(const Report& report) {
    Section out{"modes", "Which key?"};
    if (report.keyed.packets == 0) {
        return out;
    }
    const std::optional<Nanoseconds> window = report.modes.front().recommended.window;
    put(out.blocks,
        "What each key mode would drop " +
            (window ? "within " + brief_duration(*window) : std::string("however old")) +
            ", copies or not. Too many: those that key packet would forward. Missing: those that "
            "it alone would drop.");
    put(out.blocks, worst_mode(report), Tone::kWarning);
    Table table{.columns = {"key", ">drops", ">too many", ">missing"}};
    std::uint64_t most = 1;
    for (const Mode& mode : report.modes) {
        most = std::max(most, mode.recommended.dropped.packets);
    }
    for (std::size_t i = 0; i < report.modes.size(); ++i) {
        const ModeRow& at = report.modes[i].recommended;
        const std::string name = indexed("modes", i, ".recommended");
        const std::uint64_t lost = std::min(at.lost.packets, at.dropped.packets);
        table.rows.push_back(
            {{packet::name_of(report.modes[i].key), figure(name + ".dropped", at.dropped),
              harm(figure(name + ".lost", at.lost)), figure(name + ".missed", at.missed)},
             "",
             {share(at.dropped.packets - lost, most), share(lost, most)}});
    }
    put(out.blocks, std::move(table));
    if (any_key_bytes(report)) {
        put(out.blocks,
            with_rows({.title = "If only the first bytes of a packet counted (key_bytes)",
                       .columns = {">bytes", ">copies cut short", ">no copies"}},
                      report.key_bytes, "length", [](const KeyBytes& one, std::size_t i) -> Row {
                          return {{format_count(one.bytes),
                                   figure(indexed("key_bytes", i, ".cut"), one.cut),
                                   harm(figure(indexed("key_bytes", i, ".others"), one.others))}};
                      }));
    }
    return out;
}

std::string names_or_none(const std::vector<std::string>& names) {
    return names.empty() ? "none" : join_text(names);
}

Section what_if_section(const Report& report) {
    Section out{"what-if", "What would this do here?"};
    if (!report.what_if) {
        return out;
    }
    const WhatIf& it = *report.what_if;
    const Recommendation& wanted = report.recommendation;
    put(out.blocks, "Asked for: " + configuration_text(it) + ". " + it.verdict);
    if (it.forgotten != 0) {
        put(out.blocks,
            memory_was_full(format_quantity(it.forgotten, "packet") +
                            (it.forgotten == 1 ? " was" : " were") +
                            " forgotten inside the window"),
            Tone::kWarning);
    }
    Table table{.columns = {"", ">asked for", ">recommended"}};
    const auto row = [&table](const char* name, Cell asked, Cell recommended) {
        table.rows.push_back({{name, std::move(asked), std::move(recommended)}});
    };
    row("key", packet::name_of(it.key), packet::name_of(wanted.key));
    row("window", window_text(it.window), format_duration(wanted.window));
    if (!it.tunnels.empty() || !wanted.tunnels.empty()) {
        row("tunnels", names_or_none(it.tunnels), names_or_none(wanted.tunnels));
        row("tenant", text_of(it.tenant), text_of(wanted.tenant));
    }
    if (it.tags != packet::Tags::kIgnore || wanted.tags != packet::Tags::kIgnore) {
        row("tags", text_of(it.tags), text_of(wanted.tags));
    }
    if (it.key_bytes || wanted.key_bytes) {
        const auto bytes = [](const std::optional<std::uint32_t>& one) {
            return one ? format_count(*one) : std::string("all");
        };
        row("key_bytes", bytes(it.key_bytes), bytes(wanted.key_bytes));
    }
    row("policy", text_of(it.policy), text_of(wanted.policy));
    row("non_ip", text_of(it.non_ip), text_of(wanted.non_ip));
    row("repeats", text_of(it.repeats), text_of(wanted.repeats));
    for (const RemovalRow& what : kRemovalRows) {
        const auto cell = [&](const Removal& side, const std::string& name) {
            Cell out = figure("what_if." + name + "." + std::string(what.name), side.*what.count);
            return what.harm ? harm(std::move(out)) : out;
        };
        table.rows.push_back(
            {{what.words, cell(it.asked, "asked"), cell(it.recommended, "recommended")}});
    }
    put(out.blocks, std::move(table));
    return out;
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

Facts reasons(const Report& report) {
    Facts out{Facts::Look::kReasons};
    for (const Setting& each : settings(report)) {
        if (!each.text.empty() && !each.reason.empty()) {
            out.facts.push_back({each.key, each.text, each.reason});
        }
    }
    const Recommendation& wanted = report.recommendation;
    for (const auto& [name, reason] :
         {std::pair{"how sure", wanted.sure_reason}, std::pair{"taps", wanted.taps_reason}}) {
        if (!reason.empty()) {
            out.facts.push_back({name, "", reason});
        }
    }
    return out;
}

Section advice_section(const Report& report) {
    Section out{"advice", "What to configure"};
    const Recommendation& wanted = report.recommendation;
    Facts why = reasons(report);
    if (why.facts.empty()) {
        return out;
    }
    if (!wanted.needed) {
        put(out.blocks, not_needed(report));
    }
    out.blocks.emplace_back(std::move(why));
    put(out.blocks,
        "Drops " + format_quantity(wanted.removed.packets, "packet") +
            (report.copied.packets == 0 ? "" : ", " + percent(wanted.covered) + " of the copies") +
            (wanted.removed_cut.packets == 0
                 ? ""
                 : ", and " + format_count(wanted.removed_cut.packets) + " cut short") +
            ".");
    if (!wanted.toml.empty()) {
        out.blocks.emplace_back(
            Code{"toml", "", wanted.toml, option::kToml + " FILE writes this as a configuration."});
    }
    return out;
}

Section warnings_section(const Report& report) {
    Section out{"warnings", "Warnings"};
    List list;
    for (const Note& note : merge_equal_notes(report.warnings)) {
        list.items.push_back(text_of(note) +
                             (note.times == 1 ? "" : " (" + format_count(note.times) + " times)"));
    }
    if (list.items.size() > kMaxNotes) {
        list.rest = "and " + format_quantity(list.items.size() - kMaxNotes, "more warning");
        list.items.resize(kMaxNotes);
    }
    if (!list.items.empty()) {
        out.blocks.emplace_back(std::move(list));
    }
    return out;
}

}  // namespace

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

std::string opening(const Report& report) {
    const std::string first =
        report.files.empty() ? "" : capture::input_display_name(report.files.front().path);
    return (report.files.size() < 2
                ? first
                : format_quantity(report.files.size(), "input") + ", " + first + " to " +
                      capture::input_display_name(report.files.back().path)) +
           ": " + format_quantity(report.total.packets, "packet") + ", " +
           traffic(report.total.bytes, report.captured) + ", " + brief_duration(report.duration);
}

std::string headline(const Report& report) {
    if (report.total.packets == 0) {
        return std::string("There are no packets in ") + (report.files.size() > 1 ? "them" : "it") +
               ".";
    }
    if (report.total.packets == 1) {
        return "A single packet, so no copies.";
    }
    if (std::string none = no_verdict(report); !none.empty()) {
        return none;
    }
    return report.copied.packets == 0 && copies_cut_short(report).packets == 0
               ? "No copies."
               : share_text(report.copied.packets, report.total.packets) +
                     " of the packets are copies: " + format_count(report.copied.packets) + ".";
}

std::string copies_cut_sentence(const Report& report) {
    const std::uint64_t cut = copies_cut_short(report).packets;
    return cut == 0 ? ""
                    : format_quantity(cut, "packet") +
                          (cut == 1 ? " more is a copy" : " more are copies") +
                          " of one that was captured longer or shorter.";
}

std::string sent_again_sentence(const Report& report) {
    if (report.sent_again.packets == 0) {
        return "";
    }
    std::string kinds;
    for (std::size_t i = 0; i < std::min(report.kinds_sent_again.size(), kMaxKinds); ++i) {
        const SentAgain& one = report.kinds_sent_again[i];
        kinds += (i == 0 ? "" : ", ") + one.protocol +
                 (one.regular ? " every " + brief_duration(one.period) : "");
    }
    return format_quantity(report.sent_again.packets, "packet") +
           (report.sent_again.packets == 1 ? " was" : " were") + " sent again (" + kinds +
           (report.kinds_sent_again.size() > kMaxKinds ? ", ..." : "") + "): no copies.";
}

std::string text_of(const NotCompared& one) {
    return std::string(heading_of(one)) + ": " + one.text;
}

std::string text_of(const Note& note) {
    return (note.file.empty() ? "" : capture::input_display_name(note.file) + ": ") +
           (note.number == 0 ? "" : "packet " + format_count(note.number) + ": ") + note.text;
}

Remedy remedy(const Report& report) {
    if (!report.recommendation.needed) {
        return {"Bring the clocks together first", shift_command(report)};
    }
    return {any_not_compared(report, NotComparedEffect::kUnknown) ? "If they are copies"
                                                                  : "Remove them",
            report.recommendation.pcap_options.empty() ? "" : remove_command(report)};
}

ReportView make_view(const Report& report) {
    ReportView out;
    out.title = title_of(report);
    for (const FileInfo& file : report.files) {
        out.inputs.push_back(capture::input_display_name(file.path));
    }
    out.opening = opening(report);
    out.headline = headline(report);
    const std::size_t share_end = out.headline.find(" of the packets are copies");
    out.accent = share_end == std::string::npos ? 0 : share_end;
    out.answer = answer(report);
    if (report.total.packets == 0) {
        out.sections = {warnings_section(report)};
    } else {
        out.sections = {facts_section(report),   ages_section(report),      windows_section(report),
                        causes_section(report),  repeats_section(report),   tunnels_section(report),
                        places_section(report),  protocols_section(report), time_section(report),
                        talkers_section(report), modes_section(report),     what_if_section(report),
                        advice_section(report),  warnings_section(report)};
    }
    std::erase_if(out.sections, [](const Section& one) { return one.blocks.empty(); });
    return out;
}

}  // namespace unecho::analyze
