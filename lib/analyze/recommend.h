// SPDX-License-Identifier: BSD-3-Clause
// From the figures of a capture to what to configure, with the reasons in words.
#pragma once

#include <span>

#include "analyze/report.h"
#include "analyze/timeline.h"

namespace unecho::analyze {

// Fills report.recommendation but for its TOML, and the recommended row of each mode. peaks: of new
// packets.
void recommend(Report& report, std::span<const PeakRates::Peak> peaks);

}  // namespace unecho::analyze
