// SPDX-License-Identifier: BSD-3-Clause
// Windows, rates and bounds from one nanosecond to a year, for the sizing of every filter.
#pragma once

#include <vector>

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

}  // namespace unecho::sizing
