// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <fmt/core.h>

#include "base/humanize.h"
#include "captures/analyze/report/view/view_parts.h"
#include "captures/analyze/report/view/view_sections.h"
#include "captures/analyze/tally/age_histogram.h"

namespace unecho::analyze {
namespace {

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

std::string window_sentence(const Report& report) {
    const Recommendation& wanted = report.recommendation;
    return (wanted.needed && report.copied.packets != 0
                ? fmt::format("A window of {} removes {} of the copies; a longer one costs memory.",
                              brief_duration(wanted.window), percent(wanted.covered))
                : "What key packet would drop with each window.") +
           (wanted.non_ip == packet::NonIp::kFrame
                ? " Frames without an IP packet are counted as with non_ip frame."
                : "");
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
                                   {"99 % within", age_figure("ages.p99_ns", ages.p99)},
                                   {"99.9 % within", age_figure("ages.p999_ns", ages.p999)},
                                   {"oldest", age_figure("ages.oldest_ns", ages.oldest)}}});
    return out;
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

}  // namespace unecho::analyze
