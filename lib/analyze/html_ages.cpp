// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>

#include "analyze/html_parts.h"
#include "analyze/html_plot.h"
#include "analyze/html_sections.h"
#include "analyze/html_text.h"

namespace unecho::analyze {
namespace {

constexpr double kSeen = 0.02;  // of a plot's height
constexpr double kLabel = 0.2;  // of a plot's width, for a word
constexpr double kNear = 0.1;   // labels nearer to each other than this would touch

std::uint64_t most_of(const std::vector<AgeBin>& bins) {
    std::uint64_t most = 0;
    for (const AgeBin& bin : bins) {
        most = std::max(most, bin.echoes);
    }
    return most;
}

// From the first bin to the last, and beyond the window that is marked. Ages of 0 have no place on
// it: their bin has the octave before the first of the others.
LogScale age_scale(const Report& report) {
    const auto& bins = report.ages.bins;
    auto low = static_cast<double>(bins.front().low);
    auto high = static_cast<double>(bins.back().high);
    if (bins.front().low == 0) {
        const auto next = std::find_if(bins.begin() + 1, bins.end(),
                                       [](const AgeBin& bin) { return bin.echoes != 0; });
        low = static_cast<double>(next == bins.end() ? bins.front().high : next->low) / 2;
    }
    if (report.recommendation.needed && report.recommendation.window != 0) {
        low = std::min(low, static_cast<double>(report.recommendation.window));
        high = std::max(high, static_cast<double>(report.recommendation.window) * 2);
    }
    LogScale scale = log_scale(low, high);
    if (bins.front().low == 0) {
        auto& ticks = scale.ticks;
        ticks.erase(std::remove_if(ticks.begin(), ticks.end(),
                                   [](const Tick& tick) { return tick.at < kNear; }),
                    ticks.end());
        ticks.insert(ticks.begin(), {0, "0", false});
    }
    return scale;
}

std::string age_column(const Report& report, const AgeBin& bin, const LogScale& x, const Scale& y) {
    const bool within = report.recommendation.needed && bin.low < report.recommendation.window;
    const double octave = std::log(2) / std::log(x.high / x.low);
    const double from = x.at(bin.low);
    const double to = bin.low == 0 ? std::max(octave, x.at(bin.high)) : x.at(bin.high);
    return column(
        {from, from + (to - from) * 0.9, y.at(static_cast<double>(bin.echoes)),
         within ? "in" : "out",
         fill("{} to {}: {}", {duration_text(bin.low), duration_text(bin.high),
                               bin.echoes == 1 ? "1 echo" : count_text(bin.echoes) + " echoes"}),
         fill("data-low=\"{}\" data-echoes=\"{}\"",
              {std::to_string(bin.low), std::to_string(bin.echoes)})});
}

std::string age_columns(const Report& report, const LogScale& x, const Scale& y) {
    std::string out;
    for (const AgeBin& bin : report.ages.bins) {
        out += age_column(report, bin, x, y);
    }
    return out;
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

// The windows worth drawing: one before the first that drops anything, one after the last that
// drops more than its predecessor, and the recommended one.
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
                             Count WindowRow::*policy, const LogScale& x, const Scale& y) {
    std::vector<Point> points;
    for (std::size_t i = range.first; i < range.second; ++i) {
        const WindowRow& row = report.windows[i];
        points.push_back(
            {x.at(*row.window), y.at(share((row.*policy).packets, report.total.packets))});
    }
    return points;
}

std::string label(std::string_view css_class, std::string_view text, double x, double y,
                  bool before) {
    return fill("<text class=\"{}\" x=\"{}%\" dx=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>\n",
                {std::string(css_class), coordinate(x * 100), before ? "-3" : "3", coordinate(y),
                 before ? "end" : "start", std::string(text)});
}

// At the step where they are furthest apart: the upper curve's above and before it, the lower one's
// below and behind it, where no rising curve is.
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

// How far they are apart at most.
double gap(const std::vector<Point>& lower, const std::vector<Point>& upper) {
    double most = 0;
    for (std::size_t i = 0; i < lower.size(); ++i) {
        most = std::max(most, std::abs(upper[i].y - lower[i].y));
    }
    return most;
}

// One curve for both where the eye would not tell them apart.
std::string curves(const std::vector<Point>& fixed, const std::vector<Point>& refresh,
                   const std::string& marked) {
    const std::string main = curve(step_path(fixed) + "H1000", "curve");
    return gap(fixed, refresh) < kSeen ? main + marked
                                       : curve(step_path(refresh) + "H1000", "second") + main +
                                             marked + labels(fixed, refresh);
}

std::string window_caption(const std::vector<Point>& fixed, const std::vector<Point>& refresh) {
    const double apart = gap(fixed, refresh);
    return std::string("Dropped, of all packets") +
           (apart == 0      ? "; policies fixed and refresh alike"
            : apart < kSeen ? " with policy fixed; refresh drops nearly the same"
                            : ", by policy");
}

std::string window_table(const Report& report) {
    std::string body;
    for (std::size_t i = 0; i < report.windows.size(); ++i) {
        const WindowRow& each = report.windows[i];
        const std::string path = "windows." + std::to_string(i);
        body += row({each.window ? duration_text(*each.window) : "without end",
                     figure(path + ".fixed.packets", each.fixed.packets),
                     share_text(each.fixed.packets, report.total.packets),
                     figure(path + ".refresh.packets", each.refresh.packets)});
    }
    return "<details><summary>All windows as a table</summary>\n" +
           table({"Window", "fixed drops", "of all", "refresh drops"}, body) + "</details>\n";
}

std::string window_words(const Report& report) {
    const Recommendation& advice = report.recommendation;
    if (!advice.needed) {
        return "What key packet would drop with each window.";
    }
    return fill("A window of {} removes {} of the copies; a longer one costs memory.",
                {duration_text(advice.window),
                 share_text(std::min(advice.removed.packets, report.copied.packets),
                            report.copied.packets)});
}

}  // namespace

std::string ages_section(const Report& report) {
    const Ages& ages = report.ages;
    if (ages.bins.empty()) {
        return "";
    }
    const LogScale x = age_scale(report);
    const Scale y = count_scale(static_cast<double>(most_of(ages.bins)));
    const PlotText text{
        "ages", "Echoes by age",
        fill("Half of the echoes come within {}, 99\xC2\xA0% within {}, the oldest after "
             "{}.",
             {duration_text(ages.p50), duration_text(ages.p99), duration_text(ages.oldest)}),
        "time since the packet before with the same key", "echoes"};
    const std::string chart =
        plot(text, x.ticks, y.ticks, age_columns(report, x, y) + window_mark(report, x));
    return section("ages", "How old are they?",
                   paragraph("The time from a packet to its echo.") + "<figure><figcaption>" +
                       "Echoes, by age</figcaption>\n" + chart + "</figure>\n" + percentiles(ages));
}

std::string windows_section(const Report& report) {
    const auto range = drawn(report);
    if (report.echoes.packets == 0 || range.first >= range.second) {
        return "";
    }
    const auto& rows = report.windows;
    const LogScale x = log_scale(static_cast<double>(*rows[range.first].window),
                                 static_cast<double>(*rows[range.second - 1].window));
    const Scale y = share_scale(share(report.echoes.packets, report.total.packets));
    const PlotText text{"windows", "Share of all packets that a window drops", window_words(report),
                        "window", "share"};
    const double all = share(report.echoes.packets, report.total.packets);
    const std::string limit = fill(
        "<line class=\"limit\" x1=\"0\" x2=\"100%\" y1=\"{}\" y2=\"{}\"/>\n",
        {coordinate(kPlotHeight * (1 - y.at(all))), coordinate(kPlotHeight * (1 - y.at(all)))});
    const auto fixed = points_of(report, range, &WindowRow::fixed, x, y);
    const auto refresh = points_of(report, range, &WindowRow::refresh, x, y);
    const std::string chart =
        plot(text, x.ticks, y.ticks, limit + curves(fixed, refresh, window_mark(report, x)));
    return section("windows", "Which window?",
                   paragraph(window_words(report)) +
                       fill("<figure><figcaption>{}</figcaption>\n{}</figure>\n",
                            {window_caption(fixed, refresh), chart}) +
                       window_table(report));
}

}  // namespace unecho::analyze
