// SPDX-License-Identifier: BSD-3-Clause
// Recommend how many bytes of packets to compare if copies are cut short, with the reason.
#pragma once

#include "captures/analyze/report/report.h"

namespace unecho::analyze {

// Fill this part of report.recommendation, and report.key_bytes. window: index of the window bucket
// that equals the recommended window, or is the next longer one.
void recommend_key_bytes(Report& report, unsigned window);

}  // namespace unecho::analyze
