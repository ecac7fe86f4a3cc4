// SPDX-License-Identifier: BSD-3-Clause
// Figures as people read them, for summaries and reports. base/units.h formats option values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/units.h"

namespace unecho {

// Format a share with three digits: "12.3 %", "under 0.001 %". "0 %" and "100 %" only if exact.
std::string percent(double share);
// Format a duration with three digits: "1.25 us". From a minute on as "1 min 40 s", from an hour on
// as "2 h 30 min", from two days on as "49,653 days".
std::string brief_duration(Nanoseconds time);
// Format a count with its noun: "1,234 packets", "1 packet", "2 echoes".
std::string format_quantity(std::uint64_t count, std::string_view what);
// Format a size in powers of 1000: "1.23 GB".
std::string brief_size(std::uint64_t bytes);
// Format "1.2 MB on the wire, 512 kB captured".
std::string traffic(std::uint64_t wire, std::uint64_t captured);

// Format as printf does, in at most 63 characters.
[[gnu::format(printf, 1, 2)]] std::string format_number(const char* format, ...);
// Return "in flight" for "in_flight".
std::string spaced(std::string_view name);
// Return the text in double quotes.
std::string in_quotes(std::string_view text);
// Format "3 min 20 s" from a number of small units, `in_large` of which are a large one. A
// remainder of 0 is left out.
std::string two_units(std::uint64_t small, std::uint64_t in_large, std::string_view large_name,
                      std::string_view small_name);

}  // namespace unecho
