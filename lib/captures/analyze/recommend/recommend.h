// SPDX-License-Identifier: BSD-3-Clause
// From the figures of a capture to what to configure, with the reasons in words.
#pragma once

#include "captures/analyze/report/report.h"
#include "captures/analyze/tally/timeline.h"

namespace unecho::analyze {

// A transmission that is lost costs as much as so many copies that are left in, both as shares.
inline constexpr double kLossCost = 1000;

struct Peaks {
    PeakCounts accepted{};  // of the packets that key packet with policy fixed takes in
    PeakCounts all{};
};

// Fills report.recommendation but for its TOML, and the recommended row of each mode.
void recommend(Report& report, const Peaks& peaks);

}  // namespace unecho::analyze
