// SPDX-License-Identifier: BSD-3-Clause
// Which tunnels to look into, and whether tenants count, with the reasons in words.
#pragma once

#include "captures/analyze/report/report.h"

namespace unecho::analyze {

// Fills these parts of report.recommendation. The report is that of choose_view().
void recommend_tunnels(Report& report);

}  // namespace unecho::analyze
