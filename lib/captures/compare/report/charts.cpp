// SPDX-License-Identifier: BSD-3-Clause
#include "captures/compare/report/charts.h"

#include <algorithm>

#include <fmt/core.h>

#include "base/humanize.h"
#include "captures/view/html/plot.h"
#include "captures/view/html/text.h"
#include "captures/view/wording.h"

namespace unecho::compare {
namespace {

double after(const Path& path, std::size_t bin) {
    return static_cast<double>(bin) / static_cast<double>(path.time.size());
}

// Return letters for an id, different for each path.
std::string id_of(const std::string& chart, const Path& path) {
    std::string id = chart;
    for (const std::size_t point : {path.from, path.to}) {
        id += static_cast<char>('a' + point / 26);
        id += static_cast<char>('a' + point % 26);
    }
    return id;
}

// Return a step curve of a member over time; a part without arrivals keeps the value before it.
std::vector<view::Point> curve_of(const Path& path, const view::LogScale& y,
                                  std::int64_t TimeBin::*member) {
    std::vector<view::Point> out;
    for (std::size_t i = 0; i < path.time.size(); ++i) {
        if (path.time[i].sent != path.time[i].missing) {
            out.push_back({after(path, i), y.at(static_cast<Nanoseconds>(
                                               std::max<std::int64_t>(path.time[i].*member, 1)))});
        }
    }
    return out;
}

std::string delay_figure(const Path& path) {
    const view::Scale x = view::time_scale(path.bin * path.time.size());
    std::int64_t least = INT64_MAX;
    std::int64_t most = 1;
    for (const TimeBin& bin : path.time) {
        if (bin.sent != bin.missing) {
            least = std::min(least, bin.median);
            most = std::max(most, bin.p99);
        }
    }
    const view::LogScale y =
        view::log_scale(static_cast<double>(std::max<std::int64_t>(least, 1)) * 0.7,
                        static_cast<double>(most) * 1.3);
    const view::PlotText text{
        id_of("delay", path), "Delay over time",
        fmt::format(
            "Median {}, in parts of {}.",
            brief_duration(static_cast<Nanoseconds>(std::max<std::int64_t>(path.delays.median, 0))),
            brief_duration(path.bin)),
        "since the first packet", "delay"};
    const std::string curves =
        view::curve(view::step_path(curve_of(path, y, &TimeBin::p99)) + "H1000", "second") +
        view::curve(view::step_path(curve_of(path, y, &TimeBin::median)) + "H1000", "curve");
    return view::figure_of(
        fmt::format("{}Median and {}99th percentile of the delay, in parts of {}",
                    view::swatch("echo"), view::swatch("new"), brief_duration(path.bin)),
        view::plot(text, x.ticks, y.ticks, curves));
}

std::string loss_figure(const Path& path) {
    const auto loss = [](const TimeBin& bin) {
        return bin.sent == 0 ? 0.0
                             : static_cast<double>(bin.missing) / static_cast<double>(bin.sent);
    };
    double most = 0;
    for (const TimeBin& bin : path.time) {
        most = std::max(most, loss(bin));
    }
    const view::Scale x = view::time_scale(path.bin * path.time.size());
    const view::Scale y = view::share_scale(most);
    std::string columns;
    for (std::size_t i = 0; i < path.time.size(); ++i) {
        const TimeBin& bin = path.time[i];
        if (bin.missing != 0) {
            columns += view::column(
                {after(path, i), after(path, i + 1), y.at(loss(bin)), "in",
                 fmt::format("{} of {}", format_quantity(bin.missing, "missing packet"),
                             format_count(bin.sent)),
                 fmt::format("data-missing=\"{}\"", bin.missing)});
        }
    }
    const view::PlotText text{
        id_of("loss", path), "Loss over time",
        fmt::format("Missing packets, in parts of {}.", brief_duration(path.bin)),
        "since the first packet", "share"};
    return view::figure_of(
        "Share of the packets that are missing, in parts of " + brief_duration(path.bin),
        view::plot(text, x.ticks, y.ticks, columns));
}

}  // namespace

std::string draw(view::Chart chart, const Path& path) {
    return path.time.empty()              ? ""
           : chart == view::Chart::kDelay ? delay_figure(path)
           : chart == view::Chart::kLoss  ? loss_figure(path)
                                          : "";
}

}  // namespace unecho::compare
