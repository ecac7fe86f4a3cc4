// SPDX-License-Identifier: BSD-3-Clause
// Figures as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/units.h"

namespace unecho::analyze {

// Three digits: "0.00123 %", "12.3 %", "100 %"; never 0 or 100 where it is not.
std::string percent(double share);
// Three digits and a unit: "1.25 us" is "1.25us". From an hour on "2.5h", from two days on "49,653
// days".
std::string brief(Nanoseconds time);
// "1,234 packets", "1 packet", "2 echoes"
std::string counted(std::uint64_t count, std::string_view what);
// "1.23 GB"
std::string brief_bytes(std::uint64_t bytes);
// "2026-11-21 14:36:19 UTC"
std::string date(Nanoseconds since_1970);
// In lines of at most 96 columns, each begun by indent; a longer word has a line of its own.
std::string wrapped(std::string_view text, std::string_view indent);
// As many # of `width` as the share says, at least one where it is not 0.
std::string bar(double share, std::size_t width);

}  // namespace unecho::analyze
