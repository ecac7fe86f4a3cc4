// SPDX-License-Identifier: BSD-3-Clause
// A report as text for a terminal.
#pragma once

#include <string>

#include "captures/view/view.h"

namespace unecho::view {

std::string to_text(const ReportView& view);

// Return the opening, the headline and the answer only.
std::string to_summary(const ReportView& view);

}  // namespace unecho::view
