// SPDX-License-Identifier: BSD-3-Clause
// Charts of the report's page as inline SVG. Widths are shares of the page's, heights and text
// sizes are fixed: a chart is legible on a phone and on a desk. Colours come from the style sheet.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "captures/view/html/scale.h"

namespace unecho::view {

inline constexpr double kPlotHeight = 220;
inline constexpr double kPlotWidth = 1000;  // of the coordinates of paths

// Plain text for readers who do not see the chart.
struct PlotText {
    std::string id;  // letters; unique on the page
    std::string title;
    std::string description;
    std::string x_name;
    std::string y_name;
};

// Return a chart: axes and grid around what the functions below returned.
std::string plot(const PlotText& text, const std::vector<Tick>& x, const std::vector<Tick>& y,
                 const std::string& inside);

// Return the chart with its caption, which is HTML.
std::string figure_of(const std::string& caption, const std::string& chart);

// Return a square of a colour of the style sheet.
std::string swatch(const char* colour);

// Shares of the plot's width and height; y upwards.
struct Column {
    double from = 0;
    double to = 0;
    double height = 0;
    std::string_view css_class;
    std::string tip;         // plain text
    std::string attributes;  // "data-echoes=\"7\""
};
std::string column(const Column& column);

struct Point {
    double x = 0;
    double y = 0;
};

// Return a step curve in kPlotWidth x kPlotHeight. A value holds until the next point.
std::string step_path(const std::vector<Point>& points);
// Return the area between two step curves over the same points; the last values hold to x = 1.
std::string band_path(const std::vector<Point>& upper, const std::vector<Point>& lower);

std::string curve(const std::string& path, std::string_view css_class);

// Return a vertical line with its label above.
std::string mark(double at, const std::string& label);

}  // namespace unecho::view
