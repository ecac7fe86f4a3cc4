// SPDX-License-Identifier: BSD-3-Clause
// The report as one self-contained page that loads nothing; light and dark, wide and narrow.
#pragma once

#include <string>

#include "captures/analyze/report/report.h"

namespace unecho::analyze {

std::string to_html(const Report& report);

}  // namespace unecho::analyze
