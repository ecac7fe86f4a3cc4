// SPDX-License-Identifier: BSD-3-Clause
// Axes of the report's charts: where a value lies, as a share of the axis, and ticks at round
// values. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "base/units.h"

namespace unecho::analyze {

struct Tick {
    double at = 0;  // 0: the axis' beginning, 1: its end
    std::string label;
    bool minor = false;  // its label is left out where the page is narrow
};

// From 0 to a value not below the largest; ticks in steps of 1, 2 or 5 times a power of ten.
struct Scale {
    double top = 1;
    std::vector<Tick> ticks;

    [[nodiscard]] double at(double value) const { return value / top; }
};

Scale count_scale(double largest);  // "0", "500", "20k", "1.5M"
Scale share_scale(double largest);  // of a share up to 1: "0 %", "20 %"

// Time since the capture's beginning, to the very end of the capture.
Scale time_scale(Nanoseconds span);

// Ages and windows: equal ratios are equally far apart. At least a power of ten long; ticks at
// powers of ten, on a short one at 2 and 5 times these too.
struct LogScale {
    double low = 1;
    double high = 10;  // above low
    std::vector<Tick> ticks;

    [[nodiscard]] double at(Nanoseconds value) const;  // within 0 and 1
};

LogScale log_scale(double low, double high);  // low above 0

}  // namespace unecho::analyze
