// SPDX-License-Identifier: BSD-3-Clause
// Windows, rates and bounds from one nanosecond to a year, for the sizing of every filter.
#pragma once

#include <vector>

#include <gtest/gtest.h>

#include "filters/sizing/sizing.h"

namespace unecho::sizing {

inline const std::vector<Targets> kTargets{
    {50 * kMillisecond, 1e6, 1e-2},
    {50 * kMillisecond, 1e6, 1e-3},
    {50 * kMillisecond, 1e6, 1e-6},
    {kSecond, 14.88e6, 1e-4},
    {kSecond, 14.88e6, 1e-9},
    {kSecond, 148.8e6, 0.5},
    {3'333'333, 7'777.7, 1e-3},
    {kMillisecond, 1e5, 1e-6},
    {kMicrosecond, 1e6, 1e-6},
    {1, 1, 1e-3},
    {7, 1e12, 0.1},
    {kMaxWindow, 1e-9, 1e-12},
};

// Check that memory grows with a higher rate, a longer window and fewer false drops, each `times`
// times by itself. size_of returns the compared bytes or lines.
template <typename SizeOf>
void expect_growth_with_the_demands(const Targets& base, int times, SizeOf size_of) {
    const auto expect_growth = [&](const char* demand, auto demand_more) {
        Targets more = base;
        auto previous = size_of(base);
        for (int i = 0; i < times; ++i) {
            demand_more(more);
            const auto size = size_of(more);
            EXPECT_GT(size, previous) << demand << ", step " << i;
            previous = size;
        }
    };
    expect_growth("rate", [](Targets& targets) { targets.keys_per_second *= 1.7; });
    expect_growth("window", [](Targets& targets) { targets.window += targets.window / 2; });
    expect_growth("false drops", [](Targets& targets) { targets.max_false_drop /= 3; });
}

}  // namespace unecho::sizing
