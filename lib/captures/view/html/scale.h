// SPDX-License-Identifier: BSD-3-Clause
// Axes of the report's charts: the position of a value as a share of the axis, and ticks at round
// values. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "base/units.h"

namespace unecho::view {

struct Tick {
    double at = 0;  // 0: beginning of the axis, 1: its end
    std::string label;
    bool minor = false;  // its label is left out on narrow pages
};

// An axis from 0 to at least the largest value; tick steps are 1, 2 or 5 times a power of ten.
struct Scale {
    double top = 1;
    std::vector<Tick> ticks;

    [[nodiscard]] double at(double value) const { return value / top; }
};

Scale count_scale(double largest);
Scale share_scale(double largest);  // of a share up to 1: "0 %", "20 %"

// Return an axis from the beginning of the capture to its very end.
Scale time_scale(Nanoseconds span);

// A logarithmic axis for ages and windows, at least a power of ten long. Ticks are at powers of
// ten, on a short axis also at 2 and 5 times these.
struct LogScale {
    double low = 1;
    double high = 10;  // above low
    std::vector<Tick> ticks;

    [[nodiscard]] double at(Nanoseconds value) const;  // within 0 and 1
};

LogScale log_scale(double low, double high);  // low above 0

}  // namespace unecho::view
