// SPDX-License-Identifier: BSD-3-Clause
// The report as JSON. Names are stable and include units (docs/captures-report.md); absent values
// are null.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "captures/analyze/report/report.h"

namespace unecho::analyze {

// Return the report without the state that merges.
nlohmann::ordered_json to_json(const Report& report);

// Return all of it, with line ends. Bytes of names that are not UTF-8 become U+FFFD.
std::string to_json_text(const Report& report);

}  // namespace unecho::analyze
