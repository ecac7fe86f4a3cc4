// SPDX-License-Identifier: BSD-3-Clause
// The report as data. Names are stable and have their units in them (docs/captures-report.md);
// what is absent in the report is null.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "captures/analyze/report/report.h"

namespace unecho::analyze {

// But for what merges.
nlohmann::ordered_json to_json(const Report& report);

// All of it, with line ends. Names that are no UTF-8 have U+FFFD in the place of what is none.
std::string to_json_text(const Report& report);

}  // namespace unecho::analyze
