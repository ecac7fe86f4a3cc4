// SPDX-License-Identifier: BSD-3-Clause
#include "captures/view/html/plot.h"

#include <algorithm>

#include <fmt/core.h>

#include "captures/view/html/text.h"

namespace unecho::view {
namespace {

constexpr double kBelow = 44;   // for the labels and the name of the x axis
constexpr double kLeast = 1.5;  // height of a column that is not 0

std::string relative(double share) {
    return coordinate(share * 100) + "%";
}

double height_of(double y) {
    return kPlotHeight * (1 - std::clamp(y, 0.0, 1.0));
}

std::string x_of(double x) {
    return coordinate(kPlotWidth * std::clamp(x, 0.0, 1.0));
}

std::string y_of(double y) {
    return coordinate(height_of(y));
}

std::string_view anchor_of(double at) {
    return at < 0.2 ? "start" : at > 0.8 ? "end" : "middle";
}

std::string y_axis(const std::vector<Tick>& ticks) {
    std::string out;
    for (const Tick& tick : ticks) {
        const std::string y = y_of(tick.at);
        out += fmt::format(
            "<line class=\"{}\" x1=\"0\" x2=\"100%\" y1=\"{}\" y2=\"{}\"/>"
            "<text x=\"-8\" y=\"{}\" dy=\"0.35em\" text-anchor=\"end\">{}</text>\n",
            tick.at > 0 ? "grid" : "base", y, y, y, escape(tick.label));
    }
    return out;
}

std::string x_axis(const std::vector<Tick>& ticks, const std::string& name) {
    std::string out;
    for (const Tick& tick : ticks) {
        const std::string x = relative(tick.at);
        out += fmt::format(
            "<line class=\"tick\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>"
            "<text class=\"{}\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
            x, x, coordinate(kPlotHeight), coordinate(kPlotHeight + 5),
            tick.minor ? "label minor" : "label", x, coordinate(kPlotHeight + 19),
            escape(tick.label));
    }
    return out + fmt::format("<text x=\"100%\" y=\"{}\" text-anchor=\"end\">{}</text>\n",
                             coordinate(kPlotHeight + 37), escape(name));
}

}  // namespace

std::string plot(const PlotText& text, const std::vector<Tick>& x, const std::vector<Tick>& y,
                 const std::string& inside) {
    return fmt::format(
               "<svg class=\"plot\" role=\"img\" height=\"{}\" aria-labelledby=\"{}-t {}-d\">\n"
               "<title id=\"{}-t\">{}</title>\n<desc id=\"{}-d\">{}</desc>\n",
               coordinate(kPlotHeight + kBelow), text.id, text.id, text.id, escape(text.title),
               text.id, escape(text.description)) +
           y_axis(y) + inside + x_axis(x, text.x_name) + "</svg>\n";
}

std::string figure_of(const std::string& caption, const std::string& chart) {
    return fmt::format("<figure><figcaption>{}</figcaption>\n{}</figure>\n", caption, chart);
}

std::string swatch(const char* colour) {
    return fmt::format("<span class=\"swatch\" style=\"--tone:var(--{})\"></span>", colour);
}

std::string column(const Column& column) {
    const double height = std::clamp(column.height, 0.0, 1.0) * kPlotHeight;
    const double shown = column.height > 0 ? std::max(height, kLeast) : 0;
    return fmt::format(
        "<rect class=\"{}\" x=\"{}\" width=\"{}\" y=\"{}\" height=\"{}\" {}>"
        "<title>{}</title></rect>\n",
        column.css_class, relative(column.from), relative(std::max(0.0, column.to - column.from)),
        coordinate(kPlotHeight - shown), coordinate(shown), column.attributes, escape(column.tip));
}

std::string step_path(const std::vector<Point>& points) {
    std::string path;
    for (const Point& point : points) {
        path += path.empty() ? fmt::format("M{} {}", x_of(point.x), y_of(point.y))
                             : fmt::format("H{}V{}", x_of(point.x), y_of(point.y));
    }
    return path;
}

std::string band_path(const std::vector<Point>& upper, const std::vector<Point>& lower) {
    if (upper.empty()) {
        return "";
    }
    std::string path = step_path(upper) + "H" + x_of(1);
    for (std::size_t i = lower.size(); i-- > 0;) {
        path += fmt::format("V{}H{}", y_of(lower[i].y), x_of(lower[i].x));
    }
    return path + "Z";
}

std::string curve(const std::string& path, std::string_view css_class) {
    return fmt::format(
        "<svg viewBox=\"0 0 {} {}\" width=\"100%\" height=\"{}\" "
        "preserveAspectRatio=\"none\"><path class=\"{}\" vector-effect=\"non-scaling-stroke\" "
        "d=\"{}\"/></svg>\n",
        coordinate(kPlotWidth), coordinate(kPlotHeight), coordinate(kPlotHeight), css_class, path);
}

std::string mark(double at, const std::string& label) {
    const std::string x = relative(std::clamp(at, 0.0, 1.0));
    return fmt::format(
        "<line class=\"mark\" x1=\"{}\" x2=\"{}\" y1=\"-12\" y2=\"{}\"/>"
        "<text class=\"mark-label\" x=\"{}\" y=\"-17\" text-anchor=\"{}\">{}</text>\n",
        x, x, coordinate(kPlotHeight), x, anchor_of(at), escape(label));
}

}  // namespace unecho::view
