// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "base/units.h"
#include "captures/analyze/report/html/html_parts.h"
#include "captures/analyze/report/html/html_plot.h"
#include "captures/analyze/report/html/html_sections.h"
#include "captures/analyze/report/html/html_text.h"

namespace unecho::analyze {
namespace {

constexpr std::size_t kMaxInPlot = 10;

// Return the height of a bin: packets per second, or the packets themselves if there are few.
double height_of(const Report& report, std::uint64_t packets) {
    const double rate = static_cast<double>(packets) * 1e9 / static_cast<double>(report.time_bin);
    return has_rate(report) ? rate : static_cast<double>(packets);
}

std::string bands(const Report& report, const Scale& x, const Scale& y) {
    std::vector<Point> all;
    std::vector<Point> first;
    std::vector<Point> none;
    for (const TimeBin& bin : report.time) {
        const double at = x.at(static_cast<double>(bin.start));
        const std::uint64_t packets = bin.total.packets;
        const std::uint64_t fresh = packets - std::min(packets, bin.echoes.packets);
        all.push_back({at, y.at(height_of(report, packets))});
        first.push_back({at, y.at(height_of(report, fresh))});
        none.push_back({at, 0});
    }
    return curve(band_path(first, none), "new") + curve(band_path(all, first), "in");
}

std::string pair_cell(const Talker& each, std::uint64_t most) {
    return fill("{} <span class=\"muted\">to</span> {}{}",
                {escape(each.source), escape(each.destination), meter(share(each.echoes, most))});
}

}  // namespace

std::string time_section(const Report& report) {
    if (report.time_bin == 0 || report.time.size() < 2) {
        return "";
    }
    double most = 0;
    for (const TimeBin& bin : report.time) {
        most = std::max(most, height_of(report, bin.total.packets));
    }
    const Scale x = time_scale(report.time_bin * report.time.size());
    const Scale y = count_scale(most);
    const std::string what = has_rate(report) ? "Packets per second" : "Packets";
    const std::string each = duration_text(report.time_bin);
    const PlotText text{
        "time", what + " over the time of the capture",
        fill("New packets and echoes in stretches of {}, at most {}{}.",
             {each, count_text(to_whole(most), "packet"), has_rate(report) ? " per second" : ""}),
        "since the first packet", "packets"};
    return section(
        "time", "When?",
        fill("<figure><figcaption>{}: "
             "<span class=\"swatch\" style=\"--tone:var(--new)\"></span>new, "
             "<span class=\"swatch\" style=\"--tone:var(--echo)\"></span>echoes on top; in "
             "stretches of {}</figcaption>\n{}</figure>\n{}",
             {what, each, plot(text, x.ticks, y.ticks, bands(report, x, y)), both(report)}));
}

std::string talkers_section(const Report& report) {
    if (report.talkers.empty()) {
        return "";
    }
    std::string body;
    bool excess = false;
    const std::size_t shown = std::min(report.talkers.size(), kMaxInPlot);
    const std::uint64_t most = report.talkers.front().echoes;
    for (std::size_t i = 0; i < shown; ++i) {
        const Talker& each = report.talkers[i];
        excess = excess || each.excess != 0;
        body += row({pair_cell(each, most),
                     figure("talkers." + std::to_string(i) + ".echoes", each.echoes) +
                         (each.excess == 0 ? ""
                                           : fill("<span class=\"sub\">at least {}</span>",
                                                  {count_text(each.echoes - each.excess)})),
                     bytes_text(each.bytes)});
    }
    return section(
        "talkers", "Whose packets?",
        table({"From and to", "Echoes", "Bytes"}, body) +
            others(report.talkers.size() - shown, "fewer echoes") + both(report) +
            (excess ? "<p class=\"small\">More pairs than are kept: the counts are upper "
                      "bounds.</p>\n"
                    : ""));
}

}  // namespace unecho::analyze
