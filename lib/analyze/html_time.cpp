// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "analyze/html_parts.h"
#include "analyze/html_plot.h"
#include "analyze/html_sections.h"
#include "analyze/html_text.h"

namespace unecho::analyze {
namespace {

constexpr std::size_t kMostTalkers = 10;

// Packets per second of what a stretch holds.
double rate_of(std::uint64_t packets, Nanoseconds stretch) {
    return static_cast<double>(packets) * 1e9 / static_cast<double>(stretch);
}

std::string bands(const Report& report, const Scale& x, const Scale& y) {
    std::vector<Point> all;
    std::vector<Point> first;
    std::vector<Point> none;
    for (const TimeBin& bin : report.time) {
        const double at = x.at(static_cast<double>(bin.start));
        const std::uint64_t packets = bin.total.packets;
        all.push_back({at, y.at(rate_of(packets, report.time_bin))});
        first.push_back(
            {at, y.at(rate_of(packets - std::min(packets, bin.echoes.packets), report.time_bin))});
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
        most = std::max(most, rate_of(bin.total.packets, report.time_bin));
    }
    const Scale x = time_scale(report.time_bin * report.time.size());
    const Scale y = count_scale(most);
    const PlotText text{"time", "Packets per second over the time of the capture",
                        fill("New packets and echoes in stretches of {}, at most {} per second.",
                             {duration_text(report.time_bin),
                              count_text(static_cast<std::uint64_t>(most), "packet")}),
                        "since the first packet", "packets per second"};
    return section(
        "time", "When?",
        fill("<figure><figcaption>Packets per second: "
             "<span class=\"swatch\" style=\"--tone:var(--new)\"></span>new, "
             "<span class=\"swatch\" style=\"--tone:var(--echo)\"></span>echoes on top; in "
             "stretches "
             "of {}</figcaption>\n{}</figure>\n",
             {duration_text(report.time_bin), plot(text, x.ticks, y.ticks, bands(report, x, y))}));
}

std::string talkers_section(const Report& report) {
    if (report.talkers.empty()) {
        return "";
    }
    std::string body;
    bool excess = false;
    const std::size_t shown = std::min(report.talkers.size(), kMostTalkers);
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
            others(report.talkers.size() - shown, "fewer echoes") +
            (excess ? "<p class=\"small\">More pairs than are kept: the counts are upper "
                      "bounds.</p>\n"
                    : ""));
}

}  // namespace unecho::analyze
