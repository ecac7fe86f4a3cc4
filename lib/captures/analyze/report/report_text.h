// SPDX-License-Identifier: BSD-3-Clause
// The report for a terminal.
#pragma once

#include <string>

#include "captures/analyze/report/report.h"

namespace unecho::analyze {

// The answer on one screen, at most 24 lines of a terminal of 80 columns: what could not be
// compared, what is there, why, how sure that is, and the command that removes it.
std::string to_summary_text(const Report& report);
// Of these the command.
std::string remove_command(const Report& report);

// All of it.
std::string to_text(const Report& report);

}  // namespace unecho::analyze
