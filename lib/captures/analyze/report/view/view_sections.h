// SPDX-License-Identifier: BSD-3-Clause
// The sections of the view, each without blocks if there is nothing to say.
#pragma once

#include "captures/analyze/report/report_view.h"

namespace unecho::analyze {

// view_capture.cpp
Section facts_section(const Report& report);
Section places_section(const Report& report);
Section protocols_section(const Report& report);
Section time_section(const Report& report);
Section talkers_section(const Report& report);

// view_ages.cpp
Section ages_section(const Report& report);
Section windows_section(const Report& report);

// view_causes.cpp
Section causes_section(const Report& report);
Section repeats_section(const Report& report);
Section tunnels_section(const Report& report);

// view_advice.cpp
Section modes_section(const Report& report);
Section what_if_section(const Report& report);
Section advice_section(const Report& report);

}  // namespace unecho::analyze
