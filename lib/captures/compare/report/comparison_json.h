// SPDX-License-Identifier: BSD-3-Clause
// A comparison as JSON: every figure, delays and offsets in ns.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "captures/compare/comparison.h"

namespace unecho::compare {

nlohmann::ordered_json to_json(const Comparison& comparison);

}  // namespace unecho::compare
