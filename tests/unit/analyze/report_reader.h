// SPDX-License-Identifier: BSD-3-Clause
// Reads what to_json() wrote, by the same names: what is lost on the way is not the same again.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "captures/analyze/report/report.h"

namespace unecho::analyze {

// Errc::kInvalidArgument: a member is missing or of another type.
Result<Report> from_json(const nlohmann::ordered_json& json);

}  // namespace unecho::analyze
