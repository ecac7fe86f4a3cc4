// SPDX-License-Identifier: BSD-3-Clause
// Whether only the first bytes of packets should count, as copies are cut short, with the reason.
#pragma once

#include "captures/analyze/report/report.h"

namespace unecho::analyze {

// Fills this part of report.recommendation, and report.key_bytes. window: of the ladder, that the
// recommended one is or lies below.
void recommend_key_bytes(Report& report, unsigned window);

}  // namespace unecho::analyze
