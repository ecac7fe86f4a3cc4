// SPDX-License-Identifier: BSD-3-Clause
// The report for a terminal.
#pragma once

#include <string>

#include "analyze/report.h"

namespace unecho::analyze {

std::string to_text(const Report& report);

}  // namespace unecho::analyze
