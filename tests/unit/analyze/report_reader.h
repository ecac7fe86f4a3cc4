// SPDX-License-Identifier: BSD-3-Clause
// Reads what to_json() wrote, by the same names: a report that comes back equal has lost nothing.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "captures/analyze/report/report.h"

namespace unecho::analyze {

// Returns Errc::kInvalidArgument if a member is missing or of another type.
Result<Report> from_json(const nlohmann::ordered_json& json);

}  // namespace unecho::analyze
