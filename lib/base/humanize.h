// SPDX-License-Identifier: BSD-3-Clause
// Figures as people read them, in summaries and reports. Option values have base/units.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/units.h"

namespace unecho {

// Three digits: "12.3 %", "under 0.001 %", "100 %"; never 0 or 100 where it is not.
std::string percent(double share);
// Three digits and a unit: 1.25 us is "1.25us". From a minute on "1 min 40 s", from an hour on
// "2 h 30 min", from two days on "49,653 days".
std::string brief_duration(Nanoseconds time);
// "1,234 packets", "1 packet", "2 echoes"
std::string format_quantity(std::uint64_t count, std::string_view what);
// "1.23 GB"
std::string brief_size(std::uint64_t bytes);
// "1.2 MB on the wire, 512 kB captured"
std::string traffic(std::uint64_t wire, std::uint64_t captured);

// One number, as printf has it.
std::string format_number(const char* format, double value);
// "3 min 20 s": so many of a small unit, of which `in_large` are a large one; no rest is not named.
std::string two_units(std::uint64_t small, std::uint64_t in_large, std::string_view large_name,
                      std::string_view small_name);

}  // namespace unecho
