// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/report/charts.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/humanize.h"
#include "base/units.h"
#include "captures/analyze/tally/age_histogram.h"
#include "captures/view/html/plot.h"
#include "captures/view/html/text.h"

namespace unecho::analyze {
namespace {

using namespace view;

constexpr double kSeen = 0.02;  // visible difference, as a share of a plot's height
constexpr double kLabel = 0.2;  // width of a word, as a share of a plot's width
constexpr double kNear = 0.1;   // labels closer to each other than this would touch
constexpr std::size_t kMaxInMatrix = 8;
constexpr double kWide = 1.35;  // ratio of a wide column's ends; mostly it is 1.26

// The axis of ages and the window. An age of 0 has no place on a logarithmic axis. Its column is a
// tenth of a power of ten wide, at the very left, and the axis begins a factor of two after it.
struct AgeScale {
    LogScale axis;
    double zero = 0;  // width of the column of age 0
};

AgeScale age_scale(const Report& report) {
    const auto& bins = report.ages.bins;
    const bool zero = bins.front().low == 0;
    const auto first = std::find_if(bins.begin(), bins.end(), [](const AgeBin& bin) {
        return bin.low != 0 && bin.echoes != 0;
    });
    auto low = static_cast<double>(first == bins.end() ? UINT64_MAX : first->low);
    auto high = static_cast<double>(bins.back().high);
    if (report.recommendation.needed && report.recommendation.window != 0) {
        low = std::min(low, static_cast<double>(report.recommendation.window));
        high = std::max(high, static_cast<double>(report.recommendation.window) * 2);
    }
    low = std::min(low, high);
    AgeScale scale{log_scale(zero ? low / 2 : low, high), 0};
    if (zero) {
        scale.zero = 0.1 / std::log10(scale.axis.high / scale.axis.low);
        auto& ticks = scale.axis.ticks;
        const double begin = std::max(kNear, scale.axis.at(to_whole(low)) - 1e-9);
        ticks.erase(std::remove_if(ticks.begin(), ticks.end(),
                                   [&](const Tick& tick) { return tick.at < begin; }),
                    ticks.end());
        ticks.insert(ticks.begin(), {scale.zero / 2, "0", false});
    }
    return scale;
}

// Return "1 ms to 1.26 ms", or the only possible age.
std::string range_text(const AgeBin& bin, Nanoseconds resolution) {
    return bin.high - bin.low <= resolution
               ? (bin.low == 0 ? "0" : brief_duration(bin.low))
               : fmt::format("{} to {}", brief_duration(bin.low), brief_duration(bin.high));
}

// Return a column, grey if it lies beyond the recommended window.
std::string age_column(const Report& report, const AgeBin& bin, const AgeScale& x, const Scale& y) {
    const bool outside = report.recommendation.needed && bin.low >= report.recommendation.window;
    const double from = bin.low == 0 ? 0 : x.axis.at(bin.low);
    const double to = bin.low == 0 ? x.zero : x.axis.at(bin.high);
    const Nanoseconds resolution = report.ages.resolution;
    return column(
        {from, from + (to - from) * 0.9, y.at(density(bin, resolution)), outside ? "out" : "in",
         fmt::format("{}: {}", range_text(bin, resolution), format_quantity(bin.echoes, "copy")),
         fmt::format("data-low=\"{}\" data-echoes=\"{}\"", bin.low, bin.echoes)});
}

std::string age_columns(const Report& report, const AgeScale& x, const Scale& y) {
    std::string out;
    for (const AgeBin& bin : report.ages.bins) {
        out += age_column(report, bin, x, y);
    }
    return out;
}

double densest(const Ages& ages) {
    double most = 0;
    for (const AgeBin& bin : ages.bins) {
        most = std::max(most, density(bin, ages.resolution));
    }
    return most;
}

// Explain the height of columns that are wider than others.
std::string coarse_note(const Ages& ages) {
    const bool coarse = std::any_of(ages.bins.begin(), ages.bins.end(), [&](const AgeBin& bin) {
        return bin.low != 0 && static_cast<double>(bin.high) > kWide * static_cast<double>(bin.low);
    });
    return coarse ? fmt::format(
                        ". Timestamps step by {}: columns at the left are wider, and as high as "
                        "the mean of what they take the place of",
                        brief_duration(ages.resolution))
                  : "";
}

std::string window_mark(const Report& report, const LogScale& x) {
    return report.recommendation.needed
               ? mark(x.at(report.recommendation.window),
                      "window " + brief_duration(report.recommendation.window))
               : "";
}

// ---- windows ------------------------------------------------------------------------------------

// Return the windows to draw: from one before the first that drops anything, to one after the last
// that drops more than its predecessor, and at least up to the recommended one.
std::vector<WindowRow> drawn_windows(const Report& report) {
    std::vector<WindowRow> rows = windows_as_recommended(report);
    std::erase_if(rows, [](const WindowRow& row) { return !row.window; });
    std::size_t first = rows.size();
    std::size_t last = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const bool grows =
            i > 0 && (rows[i].fixed != rows[i - 1].fixed || rows[i].refresh != rows[i - 1].refresh);
        if (first == rows.size() && rows[i].refresh.packets + rows[i].fixed.packets > 0) {
            first = i > 0 ? i - 1 : 0;
        }
        if (grows ||
            (report.recommendation.needed && *rows[i].window <= report.recommendation.window)) {
            last = std::min(i + 2, rows.size());
        }
    }
    first = std::min(first, last);
    return {rows.begin() + static_cast<std::ptrdiff_t>(first),
            rows.begin() + static_cast<std::ptrdiff_t>(last)};
}

std::string label(std::string_view css_class, std::string_view text, double x, double y,
                  bool before) {
    return fmt::format(
        "<text class=\"{}\" x=\"{}%\" dx=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>\n", css_class,
        coordinate(x * 100), before ? "-3" : "3", coordinate(y), before ? "end" : "start", text);
}

// Label the curves at the step where they are furthest apart: the upper one above and before it,
// the lower one below and after it, where no rising curve is.
std::string labels(const std::vector<Point>& lower, const std::vector<Point>& upper) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < lower.size(); ++i) {
        at = upper[i].y - lower[i].y > upper[at].y - lower[at].y ? i : at;
    }
    const double begin = lower[at].x;
    const double end = at + 1 < lower.size() ? lower[at + 1].x : 1;
    return label("second-label", "refresh", begin, kPlotHeight * (1 - upper[at].y) - 6,
                 begin > kLabel) +
           label("curve-label", "fixed", end > 1 - kLabel ? 1 : end,
                 kPlotHeight * (1 - lower[at].y) + 15, end > 1 - kLabel);
}

double gap(const std::vector<Point>& lower, const std::vector<Point>& upper) {
    double most = 0;
    for (std::size_t i = 0; i < lower.size(); ++i) {
        most = std::max(most, std::abs(upper[i].y - lower[i].y));
    }
    return most;
}

// Copies that each window drops, by policy, and dropped repeats on top of them.
struct WindowCurves {
    std::vector<Point> fixed;
    std::vector<Point> refresh;
    std::vector<Point> with_sent_again;  // with policy fixed
};

// Draw one curve for both policies if they look the same.
std::string curves(const WindowCurves& of, const std::string& marked) {
    const std::string again = gap(of.fixed, of.with_sent_again) == 0
                                  ? ""
                                  : curve(band_path(of.with_sent_again, of.fixed), "again");
    const std::string main = again + curve(step_path(of.fixed) + "H1000", "curve");
    return gap(of.fixed, of.refresh) < kSeen ? main + marked
                                             : curve(step_path(of.refresh) + "H1000", "second") +
                                                   main + marked + labels(of.fixed, of.refresh);
}

std::string window_caption(const WindowCurves& of, const std::string& mark) {
    const double apart = gap(of.fixed, of.refresh);
    return fmt::format("Copies dropped, of all packets{}{}",
                       apart == 0      ? "; policies fixed and refresh alike"
                       : apart < kSeen ? " with policy fixed; refresh drops nearly the same"
                                       : ", by policy",
                       gap(of.fixed, of.with_sent_again) == 0
                           ? ""
                           : fmt::format("; {}what was sent again, on top", mark));
}

// ---- time --------------------------------------------------------------------------------------

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

// ---- places ------------------------------------------------------------------------------------

std::uint64_t echoes_between(const Report& report, std::size_t from, std::size_t to) {
    for (const Crossing& each : report.crossings) {
        if (each.original == from && each.echo == to) {
            return each.echoes.packets;
        }
    }
    return 0;
}

// Return the interfaces with most echoes in this role, in their own order; none without any.
std::vector<std::size_t> shown_places(const Report& report, std::uint32_t Crossing::*role) {
    std::vector<std::uint64_t> weight(report.interfaces.size());
    for (const Crossing& each : report.crossings) {
        if (each.*role < weight.size()) {
            weight[each.*role] += each.echoes.packets;
        }
    }
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < weight.size(); ++i) {
        if (weight[i] != 0) {
            order.push_back(i);
        }
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return weight[a] > weight[b]; });
    order.resize(std::min(order.size(), kMaxInMatrix));
    std::sort(order.begin(), order.end());
    return order;
}

// Return the echoes that no cell of the matrix shows.
std::uint64_t outside(const Report& report, const std::vector<std::size_t>& rows,
                      const std::vector<std::size_t>& columns) {
    std::uint64_t sum = 0;
    for (const Crossing& each : report.crossings) {
        const bool shown = std::binary_search(rows.begin(), rows.end(), each.original) &&
                           std::binary_search(columns.begin(), columns.end(), each.echo);
        sum += shown ? 0 : each.echoes.packets;
    }
    return sum;
}

std::string cell(std::uint64_t echoes, std::uint64_t most) {
    return echoes == 0 ? "<td class=\"none\">0</td>"
                       : fmt::format("<td style=\"--s:{}\">{}</td>",
                                     coordinate(share(echoes, most)), format_count(echoes));
}

// Return "3 eth2"; narrow columns have the number alone.
std::string numbered(const Report& report, std::size_t place) {
    return fmt::format("<span class=\"place\"><span class=\"muted\">{}</span> {}</span>", place + 1,
                       escape(report.interfaces[place].name));
}

std::string crossings_figure(const Report& report) {
    const auto rows = shown_places(report, &Crossing::original);
    const auto columns = shown_places(report, &Crossing::echo);
    std::uint64_t most = 0;
    for (const Crossing& each : report.crossings) {
        most = std::max(most, each.echoes.packets);
    }
    std::string out =
        "<figure><figcaption>Rows: where a packet was captured first. Columns: where its echoes "
        "were.</figcaption>\n<div class=\"scroll\"><table class=\"matrix\">\n<thead><tr><td></td>";
    for (const std::size_t to : columns) {
        out += fmt::format("<th scope=\"col\">{}</th>", to + 1);
    }
    out += "</tr></thead>\n<tbody>\n";
    for (const std::size_t from : rows) {
        out += fmt::format("<tr><th scope=\"row\">{}</th>", numbered(report, from));
        for (const std::size_t to : columns) {
            out += cell(echoes_between(report, from, to), most);
        }
        out += "</tr>\n";
    }
    const std::uint64_t rest = outside(report, rows, columns);
    return fmt::format(
        "{}</tbody></table></div></figure>\n{}", out,
        rest == 0 ? ""
                  : fmt::format("<p class=\"small\">And {} between other interfaces.</p>\n",
                                format_quantity(rest, "echo")));
}

std::string ages_figure(const Report& report) {
    const Ages& ages = report.ages;
    const AgeScale x = age_scale(report);
    const Scale y = count_scale(densest(ages));
    const PlotText text{
        "ages", "Copies by age",
        fmt::format("Half of the copies come within {}, 99 % within {}, the oldest after {}.",
                    brief_duration(ages.p50), brief_duration(ages.p99),
                    brief_duration(ages.oldest)),
        "time since the packet before with the same key", "copies"};
    return figure_of(
        "Copies in each tenth of a power of ten" + coarse_note(ages),
        plot(text, x.axis.ticks, y.ticks, age_columns(report, x, y) + window_mark(report, x.axis)));
}

std::string windows_figure(const Report& report) {
    const std::vector<WindowRow> rows = drawn_windows(report);
    if (rows.empty()) {
        return "";
    }
    const LogScale x = log_scale(static_cast<double>(*rows.front().window),
                                 static_cast<double>(*rows.back().window));
    const bool frames = report.recommendation.non_ip == packet::NonIp::kFrame;
    const std::uint64_t copies =
        report.copied.packets - (frames ? 0 : report.non_ip_copied.packets);
    const std::uint64_t all = report.total.packets;
    const Scale y = share_scale(share(
        std::max({copies, rows.back().fixed.packets, rows.back().refresh_copied.packets}), all));
    const auto points = [&](Count WindowRow::*what) {
        std::vector<Point> out;
        for (const WindowRow& row : rows) {
            out.push_back({x.at(*row.window), y.at(share((row.*what).packets, all))});
        }
        return out;
    };
    const WindowCurves of{points(&WindowRow::fixed_copied), points(&WindowRow::refresh_copied),
                          points(&WindowRow::fixed)};
    const std::string limit = coordinate(kPlotHeight * (1 - y.at(share(copies, all))));
    const PlotText text{"windows", "Share of all packets that are copies and that a window drops",
                        window_caption(of, ""), "window", "share"};
    return figure_of(
        window_caption(of, swatch("lost")),
        plot(text, x.ticks, y.ticks,
             fmt::format("<line class=\"limit\" x1=\"0\" x2=\"100%\" y1=\"{}\" y2=\"{}\"/>\n",
                         limit, limit) +
                 curves(of, window_mark(report, x))));
}

std::string time_figure(const Report& report) {
    double most = 0;
    for (const TimeBin& bin : report.time) {
        most = std::max(most, height_of(report, bin.total.packets));
    }
    const Scale x = time_scale(report.time_bin * report.time.size());
    const Scale y = count_scale(most);
    const std::string what = has_rate(report) ? "Packets per second" : "Packets";
    const std::string each = brief_duration(report.time_bin);
    const PlotText text{"time", what + " over the time of the capture",
                        fmt::format("New packets and echoes in stretches of {}, at most {}{}.",
                                    each, format_quantity(to_whole(most), "packet"),
                                    has_rate(report) ? " per second" : ""),
                        "since the first packet", "packets"};
    return figure_of(fmt::format("{}: {}new, {}echoes on top; in stretches of {}", what,
                                 swatch("new"), swatch("echo"), each),
                     plot(text, x.ticks, y.ticks, bands(report, x, y)));
}

}  // namespace

std::string draw(Chart chart, const Report& report) {
    switch (chart) {
        case Chart::kAges:
            return ages_figure(report);
        case Chart::kWindows:
            return windows_figure(report);
        case Chart::kTime:
            return time_figure(report);
        case Chart::kCrossings:
            return crossings_figure(report);
        case Chart::kDelay:
        case Chart::kLoss:
        case Chart::kNone:
            break;
    }
    return "";
}

}  // namespace unecho::analyze
