// SPDX-License-Identifier: BSD-3-Clause
// The charts of the report's page, each a <figure>.
#pragma once

#include <string>

#include "captures/analyze/report/report_view.h"

namespace unecho::analyze {

// Return the figure; empty for Chart::kNone, or if there is nothing to draw.
std::string draw(Chart chart, const Report& report);

}  // namespace unecho::analyze
