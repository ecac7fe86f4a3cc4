// SPDX-License-Identifier: BSD-3-Clause
// Sections of the report's page, in the order of a reader's questions. Each is HTML, or empty if
// the report has nothing to say.
#pragma once

#include <string>

#include "captures/analyze/report/report.h"

namespace unecho::analyze {

std::string answer_section(const Report& report);  // headline and the most important numbers
std::string facts_section(const Report& report);
std::string ages_section(const Report& report);
std::string windows_section(const Report& report);
std::string causes_section(const Report& report);
std::string tunnels_section(const Report& report);  // packets by tunnel, and their copies
std::string places_section(const Report& report);   // from which interface to which
std::string protocols_section(const Report& report);
std::string time_section(const Report& report);
std::string talkers_section(const Report& report);
std::string modes_section(const Report& report);
std::string what_if_section(const Report& report);  // of the configuration in question
std::string advice_section(const Report& report);
std::string warnings_section(const Report& report);

}  // namespace unecho::analyze
