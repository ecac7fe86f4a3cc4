// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "captures/analyze/report/html/html_parts.h"
#include "captures/analyze/report/html/html_plot.h"
#include "captures/analyze/report/html/html_sections.h"
#include "captures/analyze/report/html/html_text.h"
#include "captures/analyze/tally/age_histogram.h"

namespace unecho::analyze {
namespace {

constexpr double kSeen = 0.02;  // visible difference, as a share of a plot's height
constexpr double kLabel = 0.2;  // width of a word, as a share of a plot's width
constexpr double kNear = 0.1;   // labels closer to each other than this would touch
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
               ? (bin.low == 0 ? "0" : duration_text(bin.low))
               : fill("{} to {}", {duration_text(bin.low), duration_text(bin.high)});
}

// Return a column, grey if it lies beyond the recommended window.
std::string age_column(const Report& report, const AgeBin& bin, const AgeScale& x, const Scale& y) {
    const bool outside = report.recommendation.needed && bin.low >= report.recommendation.window;
    const double from = bin.low == 0 ? 0 : x.axis.at(bin.low);
    const double to = bin.low == 0 ? x.zero : x.axis.at(bin.high);
    const Nanoseconds resolution = report.ages.resolution;
    return column(
        {from, from + (to - from) * 0.9, y.at(density(bin, resolution)), outside ? "out" : "in",
         fill("{}: {}", {range_text(bin, resolution),
                         bin.echoes == 1 ? "1 copy" : count_text(bin.echoes) + " copies"}),
         fill("data-low=\"{}\" data-echoes=\"{}\"",
              {std::to_string(bin.low), std::to_string(bin.echoes)})});
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
    return coarse ? fill(
                        " Timestamps step by {}: columns at the left are wider, and as high as the "
                        "mean of what they take the place of.",
                        {duration_text(ages.resolution)})
                  : "";
}

std::string window_mark(const Report& report, const LogScale& x) {
    return report.recommendation.needed
               ? mark(x.at(report.recommendation.window),
                      "window " + duration_text(report.recommendation.window))
               : "";
}

std::string percentiles(const Ages& ages) {
    return fill(
        "<dl class=\"facts narrow\">\n{}{}{}{}{}</dl>\n",
        {fact("Youngest", figure("ages.youngest_ns", ages.youngest, duration_text(ages.youngest))),
         fact("Half within", figure("ages.p50_ns", ages.p50, duration_text(ages.p50))),
         fact("99\xC2\xA0%", figure("ages.p99_ns", ages.p99, duration_text(ages.p99))),
         fact("99.9\xC2\xA0%", figure("ages.p999_ns", ages.p999, duration_text(ages.p999))),
         fact("Oldest", figure("ages.oldest_ns", ages.oldest, duration_text(ages.oldest)))});
}

// ---- windows ------------------------------------------------------------------------------------

// Return which windows to draw: from one before the first that drops anything, to one after the
// last that drops more than its predecessor, and at least up to the recommended one.
std::pair<std::size_t, std::size_t> drawn(const Report& report) {
    const auto& rows = report.windows;
    std::size_t first = rows.size();
    std::size_t last = 0;
    for (std::size_t i = 0; i < rows.size() && rows[i].window; ++i) {
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
    while (last > 0 && !rows[last - 1].window) {
        --last;
    }
    return {std::min(first, last), last};
}

std::vector<Point> points_of(const Report& report, std::pair<std::size_t, std::size_t> range,
                             Count WindowRow::*what, const LogScale& x, const Scale& y) {
    std::vector<Point> points;
    for (std::size_t i = range.first; i < range.second; ++i) {
        const WindowRow& row = report.windows[i];
        points.push_back(
            {x.at(*row.window), y.at(share((row.*what).packets, report.total.packets))});
    }
    return points;
}

std::string label(std::string_view css_class, std::string_view text, double x, double y,
                  bool before) {
    return fill("<text class=\"{}\" x=\"{}%\" dx=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>\n",
                {std::string(css_class), coordinate(x * 100), before ? "-3" : "3", coordinate(y),
                 before ? "end" : "start", std::string(text)});
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

std::string window_caption(const WindowCurves& of) {
    const double apart = gap(of.fixed, of.refresh);
    return std::string("Copies dropped, of all packets") +
           (apart == 0      ? "; policies fixed and refresh alike"
            : apart < kSeen ? " with policy fixed; refresh drops nearly the same"
                            : ", by policy") +
           (gap(of.fixed, of.with_sent_again) == 0
                ? ""
                : "; <span class=\"swatch\" style=\"--tone:var(--lost)\"></span>what was sent "
                  "again, on top");
}

std::string window_table(const Report& report) {
    std::string body;
    for (std::size_t i = 0; i < report.windows.size(); ++i) {
        const WindowRow& each = report.windows[i];
        const std::string path = "windows." + std::to_string(i);
        body += row({each.window ? duration_text(*each.window) : "without end",
                     figure(path + ".fixed.packets", each.fixed.packets),
                     figure(path + ".fixed_copied.packets", each.fixed_copied.packets),
                     figure(path + ".refresh.packets", each.refresh.packets),
                     figure(path + ".refresh_copied.packets", each.refresh_copied.packets)});
    }
    return "<details><summary>All windows as a table: what each policy drops, and how many of "
           "these are copies</summary>\n" +
           table({"Window", "fixed", "copies", "refresh", "copies"}, body) + "</details>\n";
}

std::string window_words(const Report& report) {
    const Recommendation& advice = report.recommendation;
    if (!advice.needed) {
        return "What key packet would drop with each window.";
    }
    return fill(
        "A window of {} removes {} of the copies; a longer one costs memory.{}",
        {duration_text(advice.window),
         share_text(std::min(advice.removed.packets, report.copied.packets), report.copied.packets),
         advice.non_ip == packet::NonIp::kFrame ? " Below are those that have an IP packet." : ""});
}

}  // namespace

std::string ages_section(const Report& report) {
    const Ages& ages = report.ages;
    if (ages.bins.empty()) {
        return "";
    }
    const AgeScale x = age_scale(report);
    const Scale y = count_scale(densest(ages));
    const PlotText text{
        "ages", "Copies by age",
        fill("Half of the copies come within {}, 99\xC2\xA0% within {}, the oldest after "
             "{}.",
             {duration_text(ages.p50), duration_text(ages.p99), duration_text(ages.oldest)}),
        "time since the packet before with the same key", "copies"};
    const std::string chart =
        plot(text, x.axis.ticks, y.ticks, age_columns(report, x, y) + window_mark(report, x.axis));
    return section("ages", "How old are they?",
                   paragraph("The time from a packet to its copy." + coarse_note(ages)) +
                       "<figure><figcaption>Copies in each tenth of a power of ten</figcaption>\n" +
                       chart + "</figure>\n" + percentiles(ages));
}

std::string windows_section(const Report& report) {
    const auto range = drawn(report);
    if (report.echoes.packets == 0 || range.first >= range.second) {
        return "";
    }
    const auto& rows = report.windows;
    const LogScale x = log_scale(static_cast<double>(*rows[range.first].window),
                                 static_cast<double>(*rows[range.second - 1].window));
    const auto most = [&](Count WindowRow::*what) {
        return (rows[range.second - 1].*what).packets;
    };
    const std::uint64_t copies = report.copied.packets - report.non_ip_copied.packets;
    const Scale y = share_scale(
        share(std::max({copies, most(&WindowRow::fixed), most(&WindowRow::refresh_copied)}),
              report.total.packets));
    const PlotText text{"windows", "Share of all packets that are copies and that a window drops",
                        window_words(report), "window", "share"};
    const std::string all =
        coordinate(kPlotHeight * (1 - y.at(share(copies, report.total.packets))));
    const std::string limit =
        fill("<line class=\"limit\" x1=\"0\" x2=\"100%\" y1=\"{}\" y2=\"{}\"/>\n", {all, all});
    const auto points = [&](Count WindowRow::*what) {
        return points_of(report, range, what, x, y);
    };
    const WindowCurves of{points(&WindowRow::fixed_copied), points(&WindowRow::refresh_copied),
                          points(&WindowRow::fixed)};
    const std::string chart =
        plot(text, x.ticks, y.ticks, limit + curves(of, window_mark(report, x)));
    return section("windows", "Which window?",
                   paragraph(window_words(report)) +
                       fill("<figure><figcaption>{}</figcaption>\n{}</figure>\n",
                            {window_caption(of), chart}) +
                       window_table(report));
}

}  // namespace unecho::analyze
