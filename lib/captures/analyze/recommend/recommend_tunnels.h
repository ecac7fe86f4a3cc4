// SPDX-License-Identifier: BSD-3-Clause
// Recommend which tunnels to open, and whether tenants are compared, with the reasons.
#pragma once

#include "captures/analyze/report/report.h"

namespace unecho::analyze {

// Fill these parts of report.recommendation. report: of choose_view().
void recommend_tunnels(Report& report);

}  // namespace unecho::analyze
