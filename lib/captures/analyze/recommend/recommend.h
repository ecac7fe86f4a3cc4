// SPDX-License-Identifier: BSD-3-Clause
// Choose a configuration from the figures of a capture, with the reasons as sentences.
#pragma once

#include "captures/analyze/report/report.h"
#include "captures/analyze/tally/timeline.h"

namespace unecho::analyze {

// A lost transmission costs as much as so many copies that are left in, both as shares.
inline constexpr double kLossCost = 1000;

struct Peaks {
    PeakCounts accepted{};  // of the packets that a filter with key packet and policy fixed inserts
    PeakCounts all{};
};

// Fill report.recommendation except its TOML, and the recommended row of each mode.
void recommend(Report& report, const Peaks& peaks);

}  // namespace unecho::analyze
