// SPDX-License-Identifier: BSD-3-Clause
// The report as text for a terminal, and as a page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "captures/analyze/report/report.h"

namespace unecho::analyze {

// Return a summary for one screen, at most 24 lines of 80 columns: what could not be compared, how
// much is copied, why, how certain that is, and the command that removes it.
std::string to_summary_text(const Report& report);
// Return that command, with IN... for more than so many inputs.
std::string remove_command(const Report& report, std::size_t most_files = SIZE_MAX);

std::string to_text(const Report& report);

// Return one self-contained page (captures/view/html/page.h).
std::string to_html(const Report& report);

}  // namespace unecho::analyze
