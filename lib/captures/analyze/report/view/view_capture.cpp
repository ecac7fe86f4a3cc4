// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <numeric>

#include <fmt/core.h>

#include "base/humanize.h"
#include "base/utf8.h"
#include "captures/analyze/classify/not_compared.h"
#include "captures/analyze/report/text_format.h"
#include "captures/analyze/report/view/view_parts.h"
#include "captures/analyze/report/view/view_sections.h"
#include "captures/standard_streams.h"

namespace unecho::analyze {
namespace {

std::string per_second(double value, const char* unit) {
    std::string size = brief_size(to_whole(value));
    size.pop_back();  // the B of bytes
    return (value < 1000 ? format_number("%.3g ", value) : size) + unit;
}

std::string average_rates(const Report& report, const Count& less = {}) {
    const double seconds = static_cast<double>(report.duration) / 1e9;
    const auto rest = [&](std::uint64_t all, std::uint64_t some) {
        return static_cast<double>(all - std::min(some, all)) / seconds;
    };
    return fmt::format("{}, {}", per_second(rest(report.total.packets, less.packets), "pps"),
                       per_second(8 * rest(report.total.bytes, less.bytes), "bit/s"));
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

}  // namespace

Section facts_section(const Report& report) {
    Section out{.id = "facts", .title = "What was captured", .wide = true};
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
        if (report.copied.packets != 0 && !any_not_compared(report, NotComparedEffect::kUnknown)) {
            say(report.blind_after ? "without copies, at most" : "without copies",
                average_rates(report, report.copied));
        }
    }
    say("with a key", figure("keyed", report.keyed));
    say("without IP", figure("non_ip", report.non_ip),
        report.non_ip_types.empty() ? "" : engines::text_of(report.non_ip_types));
    say("malformed", figure("malformed", report.malformed));
    say(report.blind_after ? "different keys, at most" : "different keys",
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
        table.rest += fmt::format("{}{} without packets", table.rest.empty() ? "" : ", and ",
                                  format_quantity(empty, "interface"));
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

}  // namespace unecho::analyze
